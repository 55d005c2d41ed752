// Reads expressions and statements in a text whose macros are expanded: what belongs together, what is assigned.
//
// Thread-safe once constructed. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/text/lexer.h"

namespace cleave::kernels {

// Tokens from `begin` to before `end`.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Expressions {
 public:
  // `list` must outlive this.
  explicit Expressions(const std::vector<Token>& list);

  // All parentheses, brackets and braces have their other one.
  [[nodiscard]] bool balanced() const { return balanced_; }
  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t at) const { return list_[at].text; }
  [[nodiscard]] bool is(std::size_t at, std::string_view sign) const {
    return at < list_.size() && list_[at].is(sign);
  }
  [[nodiscard]] bool is_name(std::size_t at) const {
    return at < list_.size() && list_[at].kind == Token::Kind::name;
  }
  [[nodiscard]] bool is_number(std::size_t at) const {
    return at < list_.size() && list_[at].kind == Token::Kind::number;
  }

  // The same sign twice, one of `signs`: "+-" for ++ and --.
  [[nodiscard]] bool is_twice(std::size_t at, std::string_view signs) const;

  // The other parenthesis, bracket or brace.
  [[nodiscard]] std::size_t match(std::size_t at) const { return match_[at]; }
  // Behind the token, or what it opens.
  [[nodiscard]] std::size_t behind(std::size_t at) const { return match_[at] > at ? match_[at] + 1 : at + 1; }
  // The first of that sign from `begin` on, outside of parentheses and the like; `end` if there is none.
  [[nodiscard]] std::size_t find(std::string_view sign, std::size_t begin, std::size_t end) const;
  // The same within them.
  [[nodiscard]] std::size_t find_depth(std::string_view sign, Range range) const;
  // The end of the expression at `begin`: a semicolon, a comma, or what closes the one around it.
  [[nodiscard]] std::size_t end_of_value(std::size_t begin) const;

  // Not the end of `i-- > 0`.
  [[nodiscard]] bool is_arrow(std::size_t at) const {
    return is(at, "-") && is(at + 1, ">") && (at == 0 || !is(at - 1, "-"));
  }
  // Whether the sign there has no left operand.
  [[nodiscard]] bool is_unary(std::size_t at) const;
  [[nodiscard]] bool is_dereference(std::size_t at) const { return is(at, "*") && is_unary(at); }
  // A `=` that assigns, also as the end of += and the like.
  [[nodiscard]] bool is_assignment(std::size_t at) const;
  // The sign behind which the left operand of the assignment at `equals` ends.
  [[nodiscard]] std::size_t end_of_target(std::size_t equals) const;

  // With all parentheses that have nothing else in them.
  [[nodiscard]] Range with_parentheses(Range range) const;
  // Whether the name at `at` gets a value there, or its address is taken. So does each one that inline assembly names.
  [[nodiscard]] bool assigned_at(std::size_t at) const;
  // How often that is so in the range.
  [[nodiscard]] std::size_t assigns(std::string_view name, Range range) const;
  [[nodiscard]] bool mentions(std::string_view name, Range range) const;
  [[nodiscard]] std::string text(Range range) const;

 private:
  const std::vector<Token>& list_;
  void mark_assembly();

  std::vector<std::size_t> match_;  // 0: none
  std::vector<bool> in_assembly_;   // in the parentheses of a statement of assembly; empty: there is none
  bool balanced_ = true;
};

}  // namespace cleave::kernels
