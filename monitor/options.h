// What the daemon can be told, on its command line and, under the same names, in a TOML file. The command
// line wins.
//
// Thread-safe: plain functions of their arguments.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/address.h"

namespace cleave::monitor {

// An option that cannot be followed: "--listen: ... is not understood; expected ...". One line.
class OptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Options {
  std::vector<std::string> connect;    // libvirt URIs; empty: qemu:///system
  std::vector<base::Address> listen;   // empty: the inherited sockets, or else CLEAVE_MONITOR_SOCKET
  std::vector<base::Address> metrics;  // at most one; empty: none
  bool allow_wildcard = false;
  mode_t socket_mode = 0666;
  std::string socket_group;  // empty: the process's own
  std::size_t max_clients = 10'000;
  std::chrono::milliseconds heartbeat{2000};
  std::chrono::milliseconds patience{30'000};  // with a client that takes nothing
  std::chrono::milliseconds interval{3000};    // between listings
  double busy_share = 0.2;                     // of one processor
};

struct OptionEntry {
  enum class ValueCount : std::uint8_t { nothing, one, several };

  const char* name;  // --name, and the key in the file
  ValueCount value_count;
  const char* value;  // what stands for the value in the help
  const char* help;
  const char* expected;  // what a value must be, to end the sentence "expected ..."
  // Takes one value as text ("true" or "false" for those that take nothing); false if it is not one.
  bool (*apply)(Options&, std::string_view);
};

// All options that may also stand in the file, in the order users see them.
std::span<const OptionEntry> option_table();

// What somebody said of one option.
struct OptionValues {
  const OptionEntry* option = nullptr;
  std::vector<std::string> values;
  std::string where;  // "--listen", or "/etc/cleave/monitord.toml:3: listen"
};

// Throws OptionError.
std::vector<OptionValues> read_file(const std::string& path);

// The options from both; throws OptionError for values that are not understood or do not go together.
Options merge_options(const std::vector<OptionValues>& command_line, const std::vector<OptionValues>& file);

}  // namespace cleave::monitor
