// How a loop's variable is moved, and what it is compared with.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "kernels/expression.h"

namespace cleave::kernels {

// An expression that makes a variable larger or smaller: `++i`, `i -= n`, `i = i + 2`, `i >>= 1`.
struct Move {
  enum class Way : std::uint8_t { up, down };
  Range range;
  Way way = Way::up;
  bool is_by_one = false;  // ++ or --, or by the number 1
  bool scales = false;     // multiplies or divides, also by a shift
  Range amount;            // empty: ++ or --

  [[nodiscard]] bool divides() const { return scales && way == Way::down; }
};

// The one that assigns to the name at `at`. Empty if it is another assignment, by 0 for instance.
std::optional<Move> read_move(const Expressions& text, std::size_t at);

// Two values that are compared.
struct Comparison {
  enum class Sign : std::uint8_t { less, greater, unequal };  // the first two also for <= and >=
  Range left;
  Sign sign = Sign::unequal;
  bool or_equal = false;
  Range right;

  // The same with the sides exchanged.
  [[nodiscard]] Comparison turned() const;
};

// Empty if the expression is anything else.
std::optional<Comparison> read_comparison(const Expressions& text, Range range);

// Without parentheses around all of it.
Range without_parentheses(const Expressions& text, Range range);

// The value of an integer that stands alone.
std::optional<std::uint64_t> read_number(const Expressions& text, Range range);

// The variables whose addresses are taken anywhere.
std::set<std::string_view> names_with_address(const Expressions& text);

}  // namespace cleave::kernels
