// Which names a program could form with the preprocessor's ## from what stands in its text.
//
// A formed name is a row of fragments: names and numbers of the text. Two of them can only meet where some ##
// lets them: its operands are either what is written there or, where that is a parameter of the macro,
// anything.
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
  // `texts` and `options`, the build options as a text of directives, must outlive this. How the options
  // write macros is the driver's affair, so any ## there lets anything meet.
  TokenPasting(const std::vector<std::string_view>& texts, std::string_view options);

  // Whether the program could form exactly `name`, or has it in its text.
  [[nodiscard]] bool can_form(std::string_view name) const;

  // Whether the program could form exactly `name` from two fragments or more.
  [[nodiscard]] bool can_join(std::string_view name) const;

  // Whether the program could form a name that holds `part`, or has one in its text.
  [[nodiscard]] bool can_form_containing(std::string_view part) const;

 private:
  using Text = std::string_view;
  // The fragment put there last, and how much of the wanted text there is with it.
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
