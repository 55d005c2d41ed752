#include "kernels/counter_moves.h"

#include <algorithm>
#include <charconv>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

constexpr Text kArithmetic = "+-*/().";

// Sums and products, which are not negative by their first sign.
bool is_amount(const Expressions& text, Range range) {
  if (range.begin >= range.end || text.is(range.begin, "-")) return false;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (text.is_name(i) || text.is_number(i)) continue;
    if (text[i].size() != 1 || kArithmetic.find(text[i][0]) == Text::npos) return false;
  }
  return true;
}

// One name, number or call, or what is in parentheses, so that no sign behind it belongs to another operator.
bool is_operand(const Expressions& text, Range range) {
  std::size_t at = range.begin;
  if (text.is_name(at) && text.is(at + 1, "(")) ++at;
  return range.begin < range.end && text.behind(at) == range.end;
}

struct MoveOperator {
  Move::Way way;
  bool scales;
};

std::optional<MoveOperator> operator_of(Text sign) {
  using enum Move::Way;
  if (sign == "+") return MoveOperator{up, false};
  if (sign == "-") return MoveOperator{down, false};
  if (sign == "*" || sign == "<<") return MoveOperator{up, true};
  if (sign == "/" || sign == ">>") return MoveOperator{down, true};
  return std::nullopt;
}

std::optional<Move> move_by(const Expressions& text, Range range, Text sign, Range amount) {
  const auto known = operator_of(sign);
  if (!known || !is_amount(text, amount)) return std::nullopt;
  const auto number = read_number(text, amount);
  const std::uint64_t least = sign == "*" || sign == "/" ? 2 : 1;
  if (number ? *number < least : known->scales) return std::nullopt;
  return Move{range, known->way, number == 1 && !known->scales, known->scales, amount};
}

// `i = i + 2`, with the = at `equals`.
std::optional<Move> move_of_value(const Expressions& text, std::size_t at, std::size_t equals) {
  const std::size_t end = text.end_of_value(equals + 1);
  if (!text.is_name(equals + 1) || text[equals + 1] != text[at]) return std::nullopt;
  const bool is_double = text.is_twice(equals + 2, "<>");
  const Range sign{equals + 2, equals + (is_double ? 4 : 3)};
  const Range amount{sign.end, end};
  if (sign.end >= end || !is_operand(text, amount)) return std::nullopt;
  return move_by(text, {at, end}, text.text(sign), amount);
}

// Whether the sign is an & in front of its only operand, or may be one behind a cast.
bool takes_address(const Expressions& text, std::size_t sign) {
  if (!text.is(sign, "&")) return false;
  if (sign == 0) return true;
  if (text.is(sign - 1, "&")) return sign > 1 && text.is(sign - 2, "&");
  if (!text.is(sign - 1, ")")) return text.is_unary(sign);
  for (std::size_t at = text.match(sign - 1) + 1; at + 1 < sign; ++at) {
    if (!text.is_name(at) && !text.is(at, "*")) return false;
  }
  return true;
}

}  // namespace

std::optional<Move> read_move(const Expressions& text, std::size_t at) {
  const auto way = [&](std::size_t sign) { return text.is(sign, "+") ? Move::Way::up : Move::Way::down; };
  if (at > 1 && text.is_twice(at - 2, "+-")) return Move{{at - 2, at + 1}, way(at - 2), true, false, {}};
  if (text.is_twice(at + 1, "+-")) return Move{{at, at + 3}, way(at + 1), true, false, {}};
  for (std::size_t equals = at + 1; equals < at + 4; ++equals) {
    if (!text.is_assignment(equals) || text.end_of_target(equals) != at + 1) continue;
    if (equals == at + 1) return move_of_value(text, at, equals);
    const std::size_t end = text.end_of_value(equals + 1);
    return move_by(text, {at, end}, text.text({at + 1, equals}), {equals + 1, end});
  }
  return std::nullopt;
}

Comparison Comparison::turned() const {
  using enum Sign;
  const Sign other = sign == less ? greater : less;
  return {right, sign == unequal ? unequal : other, or_equal, left};
}

std::optional<Comparison> read_comparison(const Expressions& text, Range range) {
  using Sign = Comparison::Sign;
  std::optional<Comparison> found;
  for (std::size_t i = range.begin; i < range.end; i = text.behind(i)) {
    if (text.is_arrow(i)) {
      ++i;
      continue;
    }
    if (text.is_twice(i, "<>") || text.is_twice(i, "=")) return std::nullopt;
    const bool less = text.is(i, "<");
    const bool unequal = text.is(i, "!") && text.is(i + 1, "=");
    if (!less && !unequal && !text.is(i, ">")) continue;
    if (found) return std::nullopt;
    const bool has_equals = text.is(i + 1, "=");
    const std::size_t end = has_equals ? i + 2 : i + 1;
    const Sign ordered = less ? Sign::less : Sign::greater;
    found = {{range.begin, i}, unequal ? Sign::unequal : ordered, has_equals && !unequal, {end, range.end}};
    i = end - 1;
  }
  if (!found) return std::nullopt;
  found->left = without_parentheses(text, found->left);
  found->right = without_parentheses(text, found->right);
  return found;
}

Range without_parentheses(const Expressions& text, Range range) {
  while (range.begin + 1 < range.end && text.is(range.begin, "(") && text.match(range.begin) + 1 == range.end)
    range = {range.begin + 1, range.end - 1};
  return range;
}

std::optional<std::uint64_t> read_number(const Expressions& text, Range range) {
  range = without_parentheses(text, range);
  if (range.begin + 1 != range.end || !text.is_number(range.begin)) return std::nullopt;
  Text digits = text[range.begin];
  const bool is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (is_hexadecimal) digits.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [rest, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hexadecimal ? 16 : 10);
  if (error != std::errc{}) return std::nullopt;
  const Text suffix = digits.substr(static_cast<std::size_t>(rest - digits.data()));
  return suffix.find_first_not_of("uUlL") == Text::npos ? std::optional(value) : std::nullopt;
}

std::set<Text> names_with_address(const Expressions& text) {
  std::set<Text> found;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (!text.is_name(i)) continue;
    const std::size_t begin = text.with_parentheses({i, i + 1}).begin;
    if (begin > 0 && takes_address(text, begin - 1)) found.insert(text[i]);
  }
  return found;
}

}  // namespace cleave::kernels
