#include "kernels/open_loops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "kernels/expression.h"

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

class LoopReader {
 public:
  LoopReader(const std::vector<Token>& list, const MacroExpansion& macros) : text_(list), macros_(macros) {}

  bool run() {
    if (!text_.balanced()) return has_any_loop();
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_.is(i, "goto")) return true;
      if (text_.is(i, "for") && !is_counted_for(i)) return true;
      if (text_.is(i, "do") && !is_counted_do(i)) return true;
      if (text_.is(i, "while") && !ends_do(i) && !is_counted_while(i)) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] bool has_any_loop() const {
    for (std::size_t i = 0; i < text_.size(); ++i) {
      for (const Text word : {"goto", "for", "while", "do"}) {
        if (text_.is(i, word)) return true;
      }
    }
    return false;
  }

  // Of the statement that begins at `at`.
  [[nodiscard]] std::size_t end_of_statement(std::size_t at) const {
    while (at < text_.size()) {
      if (text_.is(at, ";") && !text_.is(at + 1, "else")) return at + 1;
      const bool block = text_.is(at, "{");
      at = text_.behind(at);
      if (block && !text_.is(at, "else")) return at;
    }
    return at;
  }

  bool is_counted_for(std::size_t at) const {
    if (!text_.is(at + 1, "(")) return false;
    const std::size_t end = text_.match(at + 1);
    const std::size_t condition = text_.find(";", at + 2, end);
    const std::size_t step = text_.find(";", condition + 1, end);
    if (step >= end) return false;
    const Range body{end + 1, end_of_statement(end + 1)};
    return counts({condition + 1, step}, {step + 1, end}, body, false);
  }

  bool is_counted_while(std::size_t at) const {
    if (!text_.is(at + 1, "(")) return false;
    const std::size_t end = text_.match(at + 1);
    const Range body{end + 1, end_of_statement(end + 1)};
    return counts({at + 2, end}, {end, end}, body, true);
  }

  bool is_counted_do(std::size_t at) const {
    if (!text_.is(at + 1, "{")) return false;
    const std::size_t end = text_.match(at + 1);
    if (!text_.is(end + 1, "while") || !text_.is(end + 2, "(")) return false;
    return counts({end + 3, text_.match(end + 2)}, {end, end}, {at + 2, end}, true);
  }

  [[nodiscard]] bool ends_do(std::size_t at) const {
    return at > 0 && text_.is(at - 1, "}") && text_.match(at - 1) > 0 &&
           text_.is(text_.match(at - 1) - 1, "do");
  }

  // `step`: what a for does after each round. Otherwise the body must, where nothing can skip it.
  [[nodiscard]] bool counts(Range condition, Range step, Range body, bool in_body) const {
    if (text_.find_depth("|", condition) < condition.end || !is_plain(condition)) return false;
    Range part{condition.begin, condition.begin};
    for (std::size_t at = condition.begin;; ++at) {
      const bool end = at >= condition.end;
      if (!end && !(text_.is(at, "&") && text_.is(at + 1, "&"))) continue;
      part.end = std::min(at, condition.end);
      if (bounds(part, condition, step, body, in_body)) return true;
      if (end) return false;
      part.begin = ++at + 1;
    }
  }

  // Whether the part of the condition ends the loop after a number of rounds.
  [[nodiscard]] bool bounds(Range part, Range condition, Range step, Range body, bool in_body) const {
    std::optional<Text> moved;
    for (std::size_t i = part.begin; i < part.end; ++i) {
      if (!text_.is_name(i)) continue;
      const Text name = text_[i];
      if (!text_.assigns(name, body) && !text_.assigns(name, step) && !text_.assigns(name, condition))
        continue;
      if (moved && *moved != name) return false;
      moved = name;
    }
    if (!moved) return false;
    if (text_.assigns(*moved, step) != 0 || text_.assigns(*moved, condition) != 0) {
      return text_.assigns(*moved, body) == 0 &&
             (is_step(*moved, step, body) || is_step(*moved, condition, body));
    }
    return in_body && text_.assigns(*moved, body) == 1 && !has_continue(body) && is_step(*moved, body, body);
  }

  [[nodiscard]] bool has_continue(Range body) const {
    for (std::size_t i = body.begin; i < body.end; ++i) {
      if (text_.is(i, "continue")) return true;
    }
    return false;
  }

  // Whether `name` is moved in `range`, outside of its inner blocks and conditions, by what does not change in `body`.
  [[nodiscard]] bool is_step(Text name, Range range, Range body) const {
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

  [[nodiscard]] bool steps(std::size_t at, Range range, Range body) const {
    if (text_.is_twice(at + 1, "+-") || (at > 1 && text_.is_twice(at - 2, "+-"))) return true;
    for (std::size_t equals = at + 1; equals < at + 4; ++equals) {
      if (!text_.is_assignment(equals) || text_.end_of_target(equals) != at + 1) continue;
      const Range value{equals + 1, std::min(text_.end_of_value(equals + 1), range.end)};
      const bool from_itself = equals > at + 1 || text_.mentions(text_[at], value);
      return from_itself && is_plain(value) && is_fixed(value, text_[at], body);
    }
    return false;
  }

  [[nodiscard]] bool is_fixed(Range value, Text but, Range body) const {
    for (std::size_t i = value.begin; i < value.end; ++i) {
      if (text_.is_name(i) && text_[i] != but && text_.assigns(text_[i], body) != 0) return false;
    }
    return true;
  }

  // No memory is read, and nothing unknown is called.
  [[nodiscard]] bool is_plain(Range range) const {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (text_.is(i, "[") || text_.is(i, "?") || text_.is_arrow(i) || text_.is_dereference(i)) return false;
      if (!text_.is_name(i)) continue;
      if (macros_.hides_code(text_[i]) || (text_.is(i + 1, "(") && !is_pure(text_[i]))) return false;
    }
    return true;
  }

  const Expressions text_;
  const MacroExpansion& macros_;
};

}  // namespace

bool has_open_loop(const std::vector<Token>& list, const MacroExpansion& macros) {
  return LoopReader(list, macros).run();
}

}  // namespace cleave::kernels
