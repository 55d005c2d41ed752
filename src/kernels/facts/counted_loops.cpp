#include "kernels/facts/counted_loops.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// Functions of the language without effects, besides those that begin with get_, convert_ or as_.
constexpr std::array<Text, 10> kPure = {"min",   "max", "abs",      "clamp",  "mul24",
                                        "mad24", "clz", "popcount", "select", "sizeof"};

bool is_pure(Text function) {
  return std::find(kPure.begin(), kPure.end(), function) != kPure.end() || function.starts_with("get_") ||
         function.starts_with("convert_") || function.starts_with("as_");
}

}  // namespace

bool CountedLoops::begins(std::size_t at) const {
  return text_.is(at, "for") || text_.is(at, "do") || (text_.is(at, "while") && !ends_do(at));
}

std::optional<Loop> CountedLoops::at(std::size_t at) const {
  if (text_.is(at, "for")) return for_at(at);
  return text_.is(at, "do") ? do_at(at) : while_at(at);
}

std::optional<Loop> CountedLoops::for_at(std::size_t at) const {
  if (!text_.is(at + 1, "(")) return std::nullopt;
  const std::size_t end = text_.match(at + 1);
  const std::size_t condition = text_.find(";", at + 2, end);
  const std::size_t step = text_.find(";", condition + 1, end);
  if (step >= end) return std::nullopt;
  return Loop{{condition + 1, step}, {step + 1, end}, {end + 1, end_of_statement(end + 1)}, true};
}

std::optional<Loop> CountedLoops::while_at(std::size_t at) const {
  if (!text_.is(at + 1, "(")) return std::nullopt;
  const std::size_t end = text_.match(at + 1);
  return Loop{{at + 2, end}, {end, end}, {end + 1, end_of_statement(end + 1)}, false};
}

std::optional<Loop> CountedLoops::do_at(std::size_t at) const {
  if (!text_.is(at + 1, "{")) return std::nullopt;
  const std::size_t end = text_.match(at + 1);
  if (!text_.is(end + 1, "while") || !text_.is(end + 2, "(")) return std::nullopt;
  return Loop{{end + 3, text_.match(end + 2)}, {end, end}, {at + 2, end}, false};
}

bool CountedLoops::ends_do(std::size_t at) const {
  return at > 0 && text_.is(at - 1, "}") && text_.match(at - 1) > 0 &&
         text_.is(text_.match(at - 1) - 1, "do");
}

std::size_t CountedLoops::end_of_statement(std::size_t at) const {
  while (at < text_.size()) {
    if (text_.is(at, ";") && !text_.is(at + 1, "else")) return at + 1;
    const bool block = text_.is(at, "{");
    at = text_.behind(at);
    if (block && !text_.is(at, "else")) return at;
  }
  return at;
}

std::optional<Count> CountedLoops::count_of(const Loop& loop) const {
  const Range condition = loop.condition;
  if (text_.find_depth("|", condition) < condition.end || !is_plain(condition)) return std::nullopt;
  Range part{condition.begin, condition.begin};
  for (std::size_t at = condition.begin;; ++at) {
    const bool end = at >= condition.end;
    if (!end && !(text_.is(at, "&") && text_.is(at + 1, "&"))) continue;
    part.end = std::min(at, condition.end);
    if (const auto counter = counter_of(part, loop)) return Count{*counter, part};
    if (end) return std::nullopt;
    part.begin = ++at + 1;
  }
}

std::optional<Text> CountedLoops::counter_of(Range part, const Loop& loop) const {
  const auto [condition, step, body, is_for] = loop;
  std::optional<Text> moved;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    if (!text_.is_name(i)) continue;
    const Text name = text_[i];
    if (!text_.assigns(name, body) && !text_.assigns(name, step) && !text_.assigns(name, condition)) continue;
    if (moved && *moved != name) return std::nullopt;
    moved = name;
  }
  if (!moved) return std::nullopt;
  const bool outside = text_.assigns(*moved, step) != 0 || text_.assigns(*moved, condition) != 0;
  const bool counts = outside ? text_.assigns(*moved, body) == 0 &&
                                    (is_step(*moved, step, body) || is_step(*moved, condition, body))
                              : !is_for && text_.assigns(*moved, body) == 1 && !has_continue(body) &&
                                    is_step(*moved, body, body);
  return counts ? moved : std::nullopt;
}

bool CountedLoops::has_continue(Range body) const {
  for (std::size_t i = body.begin; i < body.end; ++i) {
    if (text_.is(i, "continue")) return true;
  }
  return false;
}

bool CountedLoops::is_step(Text name, Range range, Range body) const {
  std::size_t at = range.begin;
  if (text_.is(at, "{") && text_.match(at) + 1 == range.end) ++at;
  for (; at < range.end; at = text_.behind(at)) {
    if (text_.is(at, "if") || text_.is(at, "else") || text_.is(at, "for") || text_.is(at, "while") ||
        text_.is(at, "do") || text_.is(at, "switch")) {
      at = end_of_statement(at) - 1;
      continue;
    }
    if (text_.is_name(at) && text_[at] == name && text_.assigned_at(at)) return steps(at, range, body);
  }
  return false;
}

bool CountedLoops::steps(std::size_t at, Range range, Range body) const {
  if (text_.is_twice(at + 1, "+-") || (at > 1 && text_.is_twice(at - 2, "+-"))) return true;
  for (std::size_t equals = at + 1; equals < at + 4; ++equals) {
    if (!text_.is_assignment(equals) || text_.end_of_target(equals) != at + 1) continue;
    const Range value{equals + 1, std::min(text_.end_of_value(equals + 1), range.end)};
    const bool from_itself = equals > at + 1 || text_.mentions(text_[at], value);
    return from_itself && is_plain(value) && is_fixed(value, text_[at], body);
  }
  return false;
}

bool CountedLoops::is_fixed(Range value, Text but, Range body) const {
  for (std::size_t i = value.begin; i < value.end; ++i) {
    if (text_.is_name(i) && text_[i] != but && text_.assigns(text_[i], body) != 0) return false;
  }
  return true;
}

bool CountedLoops::is_plain(Range range) const {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (text_.is(i, "[") || text_.is(i, "?") || text_.is_arrow(i) || text_.is_dereference(i)) return false;
    if (!text_.is_name(i)) continue;
    if (macros_.hides_code(text_[i]) || (text_.is(i + 1, "(") && !is_pure(text_[i]))) return false;
  }
  return true;
}

}  // namespace cleave::kernels
