// Which names a program could form with the preprocessor's ## operator.
//
// A formed name is a sequence of fragments: names and numbers in the text. Two fragments can be joined only by
// a ## operator. Its operands are the written ones or, for a parameter of the macro, any fragment.
//
// Source: C99 6.10.3.3 "The ## operator".
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/lexer.h"

namespace cleave::kernels {

class TokenPasting {
 public:
  // The texts of the tokens must outlive this. `options` are the build options as the text of directives. How
  // options are passed to macros depends on the driver, so a ## in them joins any fragments.
  TokenPasting(const std::vector<const Tokens*>& texts, const Tokens& options);

  // Whether the program could form exactly `name`, or contains it.
  [[nodiscard]] bool can_form(std::string_view name) const;

  // Whether the program could form exactly `name` from at least two fragments.
  [[nodiscard]] bool can_join(std::string_view name) const;

  // Whether the program could form, or contains, a name that contains `part`.
  [[nodiscard]] bool can_form_containing(std::string_view part) const;

 private:
  using Text = std::string_view;
  // The last fragment, and the number of characters of the wanted text that are formed.
  using State = std::pair<Text, std::size_t>;
  enum class Ends { exact, open };

  void read(const std::vector<Token>& tokens, bool sure);
  void read_definition(const std::vector<Token>& tokens, std::size_t begin, std::size_t end);
  void allow(Text left, Text right);
  [[nodiscard]] bool allowed(Text left, Text right) const;
  [[nodiscard]] bool can_finish(Text wanted, std::vector<State> open, Ends ends) const;

  std::set<Text> fragments_;
  std::set<std::pair<Text, Text>> allowed_pairs_;  // kAnything stands for every fragment
};

}  // namespace cleave::kernels
