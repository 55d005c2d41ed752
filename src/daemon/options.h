// The options of a daemon: one table, read from the command line and, under the same names, from a TOML file. The
// command line wins. CLI11 is used nowhere else in the daemons.
//
// Thread-safe: plain functions of their arguments.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace cleave::daemon {

// An invalid option, described in one line: "--listen: 'x' is not understood; expected ...".
class OptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Option {
  // flag: no value on the command line, true or false in the file. list: several values, also separated by commas.
  enum class Arity : std::uint8_t { flag, one, several, list };

  std::string name;  // --name, and the key in the file
  Arity arity = Arity::one;
  std::string value_name;  // what stands for the value in the help
  std::string help;
  std::string expected;  // what a value must be, to complete the sentence "expected ..."
  // Takes one value, "true" or "false" for flags. False: it is not accepted.
  std::function<bool(std::string_view)> apply;
  bool is_octal =
      false;  // digits of base 8: a string in the file, whose integers have lost their base when they come here
};

struct Program {
  std::string name;
  std::string description;
  std::string default_file;  // read if it exists and --config names no other
};

// One value that was given for an option.
struct GivenValue {
  std::string option;  // its name
  std::string text;    // what Option::apply takes

  bool operator==(const GivenValue&) const = default;
};

// Applies the given options to what the table's entries refer to, in the order of the file and then of the command line.
// Returns what it has applied, in that order. Empty: only the help or the version was requested, and has been printed.
// Throws OptionError.
std::optional<std::vector<GivenValue>> read_options(const Program& program, const std::vector<Option>& table,
                                                    std::span<const char* const> arguments);

// Applies what read_options() has returned for the same table. Throws OptionError.
void apply_values(const std::vector<Option>& table, const std::vector<GivenValue>& values);

// The option --socket-mode. `mode` has to outlive it, and is the default, which `help` names.
Option socket_mode_option(mode_t& mode, std::string help);

// For `apply`: false, with the target unchanged, where the text is not accepted.
bool set_milliseconds(std::chrono::milliseconds& target, std::string_view text, std::uint64_t min,
                      std::uint64_t max);
bool set_flag(bool& flag, std::string_view text);

}  // namespace cleave::daemon
