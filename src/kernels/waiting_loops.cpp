#include "kernels/waiting_loops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "kernels/counted_loops.h"
#include "kernels/counter_moves.h"
#include "kernels/expression.h"
#include "kernels/name_list.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// What counts further than this may be meant to go on until something happens.
constexpr std::uint64_t kManyRounds = 1U << 24U;

// Functions of the language that read no memory. Others may begin with the same words.
constexpr std::array<Text, 21> kOfLanguage = {"min",
                                              "max",
                                              "abs",
                                              "clamp",
                                              "mul24",
                                              "mad24",
                                              "clz",
                                              "popcount",
                                              "select",
                                              "sizeof",
                                              "get_global_id",
                                              "get_global_size",
                                              "get_global_offset",
                                              "get_local_id",
                                              "get_local_size",
                                              "get_group_id",
                                              "get_num_groups",
                                              "get_work_dim",
                                              "get_image_width",
                                              "get_image_height",
                                              "get_image_depth"};
constexpr std::array<Text, 10> kTypes = {"char", "uchar", "short", "ushort", "int",
                                         "uint", "long",  "ulong", "float",  "double"};

bool is_of_language(Text function) {
  for (const Text conversion : {"convert_", "as_"}) {
    if (function.starts_with(conversion)) return is_in(kTypes, function.substr(conversion.size()));
  }
  return is_in(kOfLanguage, function);
}

class WaitingLoops {
 public:
  WaitingLoops(const std::vector<Token>& list, const MacroExpansion& macros)
      : loops_(list, macros),
        text_(loops_.text()),
        addressed_(names_with_address(text_)),
        has_shared_words_(has_shared_words()) {}

  bool run() {
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_.is(i, "goto")) return true;
      const bool may_begin = text_.is(i, "for") || text_.is(i, "while") || text_.is(i, "do");
      if (!may_begin) continue;
      if (!text_.balanced()) return true;
      if (loops_.begins(i) && !ends(i)) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] bool ends(std::size_t at) const {
    auto loop = loops_.at(at);
    if (!loop) return false;
    loop->body = whole_body(loop->body);
    return read_number(text_, loop->condition) == 0 || counts(*loop) ||
           (loop->is_for && (reaches_bound(*loop) || shrinks(*loop)));
  }

  // A body without braces of its own may go on behind its last ones: `do {} while (i--);`, `a = (int2){1, 2} + i--;`
  [[nodiscard]] Range whole_body(Range body) const {
    if (text_.is(body.begin, "{") && text_.behind(body.begin) == body.end) return body;
    if (text_.find_depth("{", body) == body.end) return body;
    while (body.end < text_.size() && !text_.is(body.end - 1, ";") && !text_.is(body.end, "}"))
      body.end = text_.behind(body.end);
    return body;
  }

  // Words that only memory needs which others change meanwhile, besides assembly's.
  [[nodiscard]] bool has_shared_words() const {
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (!text_.is_name(i)) continue;
      const bool of_assembly = i > 0 && text_.is_name(i - 1) && is_in(kAssembly, text_[i - 1]);
      if (is_in(kVolatile, text_[i]) && !of_assembly) return true;
      const bool is_type = text_[i].starts_with("atomic_") && !text_.is(i + 1, "(");
      if (is_type || text_[i] == "_Atomic") return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t assigns(Text name, const Loop& loop) const {
    return text_.assigns(name, loop.condition) + text_.assigns(name, loop.step) +
           text_.assigns(name, loop.body);
  }

  [[nodiscard]] std::optional<std::size_t> find_assignment(Text name, Range range) const {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (text_.is_name(i) && text_[i] == name && text_.assigned_at(i)) return i;
    }
    return std::nullopt;
  }

  // The only assignment to the counter, by an amount that does not change.
  [[nodiscard]] std::optional<Move> only_move(Text counter, const Loop& loop) const {
    if (assigns(counter, loop) != 1 || addressed_.contains(counter)) return std::nullopt;
    for (const Range range : {loop.condition, loop.step, loop.body}) {
      const auto at = find_assignment(counter, range);
      if (!at) continue;
      const auto move = read_move(text_, *at);
      if (!move || move->range.end > range.end) return std::nullopt;
      const bool is_fixed =
          is_computed(move->amount) && stays(move->amount, loop) && !text_.mentions(counter, move->amount);
      return is_fixed ? move : std::nullopt;
    }
    return std::nullopt;
  }

  // Without memory. Macros that hide more than numbers are not in the text.
  [[nodiscard]] bool is_computed(Range range) const {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (text_.is(i, "[") || text_.is_arrow(i) || text_.is_dereference(i)) return false;
    }
    return calls_known(range);
  }

  [[nodiscard]] bool calls_known(Range range) const {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (text_.is_name(i) && text_.is(i + 1, "(") && !is_of_language(text_[i])) return false;
    }
    return true;
  }

  // No name in the range is assigned in the loop.
  [[nodiscard]] bool stays(Range range, const Loop& loop) const {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (text_.is_name(i) && assigns(text_[i], loop) != 0) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_within(Range inner, Range outer) const {
    return inner.begin >= outer.begin && inner.end <= outer.end;
  }

  // Whether nothing else belongs to that part of a for's step.
  [[nodiscard]] bool is_part_of_step(Range part, Range step) const {
    std::size_t at = step.begin;
    while (at < part.begin) at = text_.behind(at);
    return at == part.begin && is_within(part, step) &&
           (part.begin == step.begin || text_.is(part.begin - 1, ",")) &&
           (part.end == step.end || text_.is(part.end, ","));
  }

  // Whether it is a statement of the block, which no condition can skip.
  [[nodiscard]] bool is_statement(Range part, Range body) const {
    const bool begins = part.begin == body.begin || text_.is(part.begin - 1, ";") ||
                        text_.is(part.begin - 1, "{") || text_.is(part.begin - 1, "}");
    return is_within(part, body) && begins && text_.is(part.end, ";");
  }

  // `int i` or `int n, i` in the body, which hides the counter that the condition compares.
  [[nodiscard]] bool declares(Text name, Range body) const {
    bool begins = true;  // a statement
    bool declaration = false;
    for (std::size_t i = body.begin; i < body.end; ++i) {
      if (begins) declaration = text_.is_name(i) && (text_.is_name(i + 1) || text_.is(i + 1, "*"));
      begins = text_.is(i, ";") || text_.is(i, "{") || text_.is(i, "}");
      if (!text_.is_name(i) || text_[i] != name || i == body.begin) continue;
      if (text_.is_name(i - 1) && text_[i - 1] != "return" && text_[i - 1] != "else") return true;
      if (declaration && (text_.is(i - 1, "*") || text_.is(i - 1, ","))) return true;
    }
    return false;
  }

  // Counted, without any doubt that each round counts.
  [[nodiscard]] bool counts(const Loop& loop) const {
    const auto count = loops_.count_of(loop);
    if (!count || !calls_known(loop.condition)) return false;
    const auto move = only_move(count->counter, loop);
    if (!move) return false;
    const bool in_condition = is_within(move->range, loop.condition);
    if (in_condition && move->amount.end != 0) return false;
    if (!in_condition && !is_part_of_step(move->range, loop.step)) {
      if (!is_statement(move->range, loop.body) || declares(count->counter, loop.body)) return false;
    }
    return is_bound(*count, *move, loop);
  }

  // Whether the part of the condition compares the counter with what it moves to.
  [[nodiscard]] bool is_bound(const Count& count, const Move& move, const Loop& loop) const {
    const Range part = without_parentheses(text_, count.part);
    // A half of nothing is no less.
    if (move.divides() && is_above_zero(part, count.counter)) return true;
    auto comparison = read_comparison(text_, part);
    if (!comparison) return move.way == Move::Way::down && is_counter(part, count.counter, move);
    if (text_.mentions(count.counter, comparison->right)) comparison = comparison->turned();
    const auto [side, sign, or_equal, bound] = *comparison;
    if (text_.mentions(count.counter, bound) || goes_far(bound)) return false;
    if (!is_counter(side, count.counter, move) && !is_sum(side, count.counter)) return false;
    if (!stays(bound, loop) || (move.divides() && or_equal)) return false;
    return sign == Comparison::Sign::unequal ? move.is_by_one : leads_to(move, sign);
  }

  static bool leads_to(const Move& move, Comparison::Sign sign) {
    return sign == (move.way == Move::Way::up ? Comparison::Sign::less : Comparison::Sign::greater);
  }

  // `i`, or `i--` where that is how it moves.
  [[nodiscard]] bool is_counter(Range range, Text counter, const Move& move) const {
    if (range.begin == move.range.begin && range.end == move.range.end) return true;
    return range.begin + 1 == range.end && text_.is_name(range.begin) && text_[range.begin] == counter;
  }

  // The counter plus or minus something that is computed from variables.
  [[nodiscard]] bool is_sum(Range range, Text counter) const {
    std::size_t found = 0;
    for (std::size_t i = range.begin; i < range.end; i = text_.behind(i)) {
      if (text_.is_name(i) && text_[i] == counter) {
        ++found;
        const bool added = i == range.begin || text_.is(i - 1, "+");
        const bool ends = i + 1 == range.end || text_.is(i + 1, "+") || text_.is(i + 1, "-");
        if (!added || !ends) return false;
        continue;
      }
      const bool is_known = text_.is_name(i) || text_.is_number(i) || text_.is(i, "+") || text_.is(i, "-") ||
                            text_.is(i, "*") || text_.is(i, "(");
      if (!is_known || (text_.match(i) > i && text_.mentions(counter, {i, text_.behind(i)}))) return false;
    }
    return found == 1;
  }

  [[nodiscard]] bool goes_far(Range bound) const {
    for (std::size_t i = bound.begin; i < bound.end; ++i) {
      if (text_.is(i, "~") || (text_.is_name(i) && text_[i].ends_with("_MAX"))) return true;
      if (text_.is_number(i) && read_number(text_, {i, i + 1}).value_or(0) > kManyRounds) return true;
    }
    return false;
  }

  // `for (...; i < p->n; i += 4)`. What the work-item itself does to the bound it would also do uncut.
  [[nodiscard]] bool reaches_bound(const Loop& loop) const {
    if (has_shared_words_) return false;
    auto comparison = read_comparison(text_, without_parentheses(text_, loop.condition));
    if (!comparison || comparison->sign == Comparison::Sign::unequal) return false;
    if (comparison->left.begin + 1 != comparison->left.end || !is_assigned(comparison->left.begin, loop.step))
      comparison = comparison->turned();
    const auto [side, sign, or_equal, bound] = *comparison;
    if (side.begin + 1 != side.end || !text_.is_name(side.begin)) return false;
    const auto move = only_move(text_[side.begin], loop);
    return move && !move->scales && is_part_of_step(move->range, loop.step) && leads_to(*move, sign) &&
           is_value_in_memory(bound) && stays(bound, loop) && !text_.mentions(text_[side.begin], bound) &&
           !goes_far(bound);
  }

  [[nodiscard]] bool is_assigned(std::size_t name, Range range) const {
    return text_.is_name(name) && text_.assigns(text_[name], range) != 0;
  }

  // Reads variables and memory, and computes from these.
  [[nodiscard]] bool is_value_in_memory(Range range) const {
    constexpr Text kSigns = "+-*/()[].,>";
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (text_.is_name(i) || text_.is_number(i)) continue;
      if (text_[i].size() != 1 || kSigns.find(text_[i][0]) == Text::npos) return false;
      if (text_.is(i, ">") && !text_.is_arrow(i - 1)) return false;
    }
    return range.begin < range.end && text_.find(",", range.begin, range.end) == range.end &&
           calls_known(range);
  }

  // `for (...; r; r >>= 1)` with no more than one r-- in it.
  [[nodiscard]] bool shrinks(const Loop& loop) const {
    const auto name = loop.step.begin;
    if (!text_.is_name(name) || !text_.assigned_at(name)) return false;
    const Text counter = text_[name];
    const auto step = read_move(text_, name);
    if (!step || !step->divides() || step->range.begin != loop.step.begin || step->range.end != loop.step.end)
      return false;
    if (!is_above_zero(loop.condition, counter) || addressed_.contains(counter)) return false;
    const auto other = find_assignment(counter, loop.body);
    if (!other) return true;
    if (text_.assigns(counter, loop.body) != 1 || is_in_inner_loop(*other, loop.body)) return false;
    const auto move = read_move(text_, *other);
    return move && move->way == Move::Way::down && move->is_by_one && text_.is(move->range.end, ";") &&
           move->range.end < loop.body.end;
  }

  // Exactly `r`, `r > 0`, `0 != r` or `r >= 1`.
  [[nodiscard]] bool is_above_zero(Range condition, Text counter) const {
    condition = without_parentheses(text_, condition);
    const auto is_counter = [&](Range range) {
      return range.begin + 1 == range.end && text_.is_name(range.begin) && text_[range.begin] == counter;
    };
    if (is_counter(condition)) return true;
    auto comparison = read_comparison(text_, condition);
    if (!comparison) return false;
    if (is_counter(comparison->right)) comparison = comparison->turned();
    const auto number = read_number(text_, comparison->right);
    if (!number || !is_counter(comparison->left) || comparison->sign == Comparison::Sign::less) return false;
    return *number == (comparison->or_equal ? 1 : 0);
  }

  [[nodiscard]] bool is_in_inner_loop(std::size_t at, Range body) const {
    for (std::size_t i = body.begin; i < at; ++i) {
      if (!loops_.begins(i)) continue;
      const auto inner = loops_.at(i);
      if (!inner || at < std::max(whole_body(inner->body).end, inner->condition.end)) return true;
    }
    return false;
  }

  const CountedLoops loops_;
  const Expressions& text_;
  const std::set<Text> addressed_;
  const bool has_shared_words_;
};

}  // namespace

bool has_waiting_loop(const std::vector<Token>& list, const MacroExpansion& macros) {
  return WaitingLoops(list, macros).run();
}

}  // namespace cleave::kernels
