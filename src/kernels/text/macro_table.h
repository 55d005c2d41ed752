// What is known of the macros at one place of a program: defined, not defined, or unknown.
//
// Where it is unknown whether a branch of a conditional is compiled, the branch is followed between begin_branch() and
// end_branch(), and join() then keeps what all branches agree on.
//
// Not thread-safe. May throw std::bad_alloc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/text/lexer.h"

namespace cleave::kernels {

struct Macro {
  enum class State : std::uint8_t {
    undefined,
    defined,
    unknown,     // by the program
    predefined,  // not by the program, but perhaps by the compiler; its text is then a number
  };
  State state = State::undefined;
  bool known_text = false;  // only if defined
  bool takes_arguments = false;
  std::vector<std::string_view> parameters;  // with __VA_ARGS__ and __VA_OPT__ if it takes any number
  std::span<const Token> text;

  [[nodiscard]] bool has(std::string_view parameter) const {
    return std::find(parameters.begin(), parameters.end(), parameter) != parameters.end();
  }

  friend bool operator==(const Macro& a, const Macro& b) {
    return a.state == b.state && a.known_text == b.known_text && a.text.data() == b.text.data() &&
           a.text.size() == b.text.size();
  }
};

// The macro of a #define: `tokens` are those behind the keyword, without the end of the directive.
Macro read_definition(std::span<const Token> tokens);

class MacroTable {
 public:
  // `options` are those of the build, `uncertain` others that only some compilers get.
  MacroTable(std::string_view options, std::string_view uncertain);

  // Until the table changes.
  [[nodiscard]] const Macro& find(std::string_view name) const;

  // `name` must outlive the table, and so must the tokens of the macro.
  void set(std::string_view name, const Macro& macro);

  // From now on nothing is known of any macro: text was included that is not known.
  void forget_all();

  using Changes = std::unordered_map<std::string_view, Macro>;
  void begin_branch() { journal_.emplace_back(); }
  // Undoes what was set since begin_branch(), and returns it.
  Changes end_branch();
  // Sets what holds if one of these branches was compiled or, with `or_none`, none of them.
  void join(const std::vector<Changes>& branches, bool or_none);

 private:
  void read_options(std::string_view options);

  std::deque<std::string> option_texts_;
  std::deque<Tokens> option_tokens_;
  std::unordered_map<std::string_view, Macro> macros_;
  // For each open branch: what was set in it, as it was before.
  std::vector<std::unordered_map<std::string_view, std::optional<Macro>>> journal_;
  bool knows_nothing_ = false;
  // What find() returns of macros that the program does not have.
  const Macro undefined_{.parameters = {}, .text = {}};
  const Macro defined_{.state = Macro::State::defined, .parameters = {}, .text = {}};
  const Macro predefined_{.state = Macro::State::predefined, .parameters = {}, .text = {}};
  const Macro unknown_{.state = Macro::State::unknown, .parameters = {}, .text = {}};
};

}  // namespace cleave::kernels
