// Replaces macros by their texts, as far as what they stand for is certain. A token that may stand for something else is marked.
//
// Which macros are known, and may be followed, is for the caller to say. The operator ## is not followed, nor # in front of anything but a
// parameter: they stay, marked.
//
// Source: C99 6.10.3 "Macro replacement".
//
// Not thread-safe. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/lexer.h"
#include "kernels/text/macro_table.h"

namespace cleave::kernels {

struct ExpandedToken : Token {
  bool certain = true;        // false: it may stand for any tokens
  bool blank_before = false;  // separated from the token before
};

class MacroExpander {
 public:
  // Of a name: the macro that it is replaced by, which lives as long as the expander; null: it stays. `certain`: if it
  // stays, it is nothing but this name.
  struct Meaning {
    const Macro* macro = nullptr;
    bool certain = true;
  };
  using Find = std::function<Meaning(std::string_view)>;

  // Whether arguments are expanded before they replace their parameters. If not, they are with what surrounds them, which is the same where no
  // macro has the operator #.
  enum class Arguments : std::uint8_t { as_written, expanded };

  // At most `steps` tokens are replaced or kept by all calls of expand() together.
  MacroExpander(Find find, std::size_t steps, Arguments arguments)
      : find_(std::move(find)), steps_left_(steps), arguments_(arguments) {}

  // Directives in `tokens` must have been left out. Empty if that takes too many steps. The texts of the result live as long as this and
  // the texts of the tokens.
  std::optional<std::vector<ExpandedToken>> expand(std::span<const Token> tokens);

 private:
  using Expanded = std::vector<ExpandedToken>;

  // In `open` tokens are in reverse.
  std::optional<Expanded> run(Expanded open);
  bool replace(ExpandedToken& token, Expanded& open);
  void push_text(const Macro& macro, const std::vector<Expanded>& arguments, Expanded& open);
  Expanded expand_argument(const Expanded& argument);
  ExpandedToken text_of(const Expanded& argument);

  const Find find_;
  std::size_t steps_left_;
  const Arguments arguments_;
  unsigned depth_ = 0;   // of arguments within arguments
  bool failed_ = false;  // an argument takes too many steps, or is too deep
  std::deque<std::string> texts_;
};

}  // namespace cleave::kernels
