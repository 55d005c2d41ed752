// The loops of a text, and which of them are counted: one of the conditions that keep such a loop running compares a variable
// that each round moves by a step with values that do not change meanwhile. Whatever is written in another way counts for
// nothing.
//
// Source: OpenCL C 3.0, section 6.13 "Control flow"; C99 6.8.5.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/text/expression.h"
#include "kernels/text/lexer.h"
#include "kernels/text/macro_expansion.h"

namespace cleave::kernels {

struct Loop {
  Range condition;
  Range step;  // what a for does after each round; otherwise empty
  Range body;
  bool is_for = false;
};

// What ends a loop after a number of rounds.
struct Count {
  std::string_view counter;
  Range part;  // of the condition: all of it, or what is between two &&
};

class CountedLoops {
 public:
  // `list` is a text whose macros are expanded by `macros`, which leaves some as they are. Both must outlive this.
  CountedLoops(const std::vector<Token>& list, const MacroExpansion& macros) : text_(list), macros_(macros) {}

  [[nodiscard]] const Expressions& text() const { return text_; }

  // The others require that the text is balanced.
  // Whether the word there begins a loop.
  [[nodiscard]] bool begins(std::size_t at) const;
  // That loop. Empty if it is not written as most are.
  [[nodiscard]] std::optional<Loop> at(std::size_t at) const;
  // Empty if the loop is not counted.
  [[nodiscard]] std::optional<Count> count_of(const Loop& loop) const;

  // No name in it but `but` is assigned in the body.
  [[nodiscard]] bool is_fixed(Range value, std::string_view but, Range body) const;
  // No memory is read, and nothing unknown is called.
  [[nodiscard]] bool is_plain(Range range) const;

 private:
  [[nodiscard]] std::optional<Loop> for_at(std::size_t at) const;
  [[nodiscard]] std::optional<Loop> while_at(std::size_t at) const;
  [[nodiscard]] std::optional<Loop> do_at(std::size_t at) const;
  [[nodiscard]] bool ends_do(std::size_t at) const;
  // Of the statement that begins at `at`.
  [[nodiscard]] std::size_t end_of_statement(std::size_t at) const;

  // Empty if the part of the condition does not end the loop.
  [[nodiscard]] std::optional<std::string_view> counter_of(Range part, const Loop& loop) const;
  [[nodiscard]] bool has_continue(Range body) const;
  // Whether `name` is moved in `range`, outside of its inner blocks and conditions, by what does not change in `body`.
  [[nodiscard]] bool is_step(std::string_view name, Range range, Range body) const;
  [[nodiscard]] bool steps(std::size_t at, Range range, Range body) const;

  const Expressions text_;
  const MacroExpansion& macros_;
};

}  // namespace cleave::kernels
