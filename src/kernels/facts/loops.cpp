#include "kernels/facts/loops.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/facts/counted_loops.h"
#include "kernels/text/expression.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// What counts further than this may be meant to go on until something happens.
constexpr std::uint64_t kManyRounds = 1U << 24U;

// Recognises a few shapes of loops, token by token, and nothing else: whatever is written in another way may wait.
class Loops {
 public:
  Loops(const std::vector<Token>& list, const MacroExpansion& macros)
      : list_(list), macros_(macros), loops_(list, macros), text_(loops_.text()), addressed_(addressed()) {}

  [[nodiscard]] LoopEnd least_certain_end() const {
    LoopEnd least = LoopEnd::certain;
    for (std::size_t i = 0; i < text_.size() && least != LoopEnd::open; ++i) {
      if (text_.is(i, "goto")) return LoopEnd::open;
      const bool may_begin = text_.is(i, "for") || text_.is(i, "while") || text_.is(i, "do");
      if (!may_begin) continue;
      if (!text_.balanced()) return LoopEnd::open;
      if (loops_.begins(i)) least = std::max(least, end_of(i));
    }
    return least;
  }

 private:
  struct For {
    Range init;
    Range condition;
    Range step;
    Range body;
  };
  [[nodiscard]] LoopEnd end_of(std::size_t at) const {
    const auto loop = loops_.at(at);
    if (!loop) return LoopEnd::open;
    if (certainly_ends(*loop, at) && !hides_names({at, loop->body.end})) return LoopEnd::certain;
    return loops_.count_of(*loop) ? LoopEnd::counted : LoopEnd::open;
  }

  [[nodiscard]] bool certainly_ends(const Loop& loop, std::size_t at) const {
    if (!loop.is_for) return size(loop.condition) == 1 && text_.is(loop.condition.begin, "0");
    const auto body = body_of(loop.body);
    if (!body) return false;
    const For whole{{at + 2, loop.condition.begin - 1}, loop.condition, loop.step, *body};
    return counts(whole);
  }

  // A macro that is not expanded may stand for anything.
  [[nodiscard]] bool hides_names(Range range) const {
    return std::any_of(list_.begin() + static_cast<std::ptrdiff_t>(range.begin),
                       list_.begin() + static_cast<std::ptrdiff_t>(range.end), [this](const Token& token) {
                         return token.kind == Token::Kind::name && macros_.hides_names(token.text);
                       });
  }

  // A block, or one simple statement.
  [[nodiscard]] std::optional<Range> body_of(Range body) const {
    if (text_.is(body.begin, "{")) return Range{body.begin, text_.match(body.begin) + 1};
    if (text_.is(body.begin, ";")) return Range{body.begin, body.begin + 1};
    std::size_t end = body.begin;
    for (; end < text_.size() && !text_.is(end, ";"); ++end) {
      const bool is_simple = !text_.is(end, "{") && !text_.is(end, "if") && !text_.is(end, "else") &&
                             !text_.is(end, "for") && !text_.is(end, "while") && !text_.is(end, "do") &&
                             !text_.is(end, "switch");
      if (!is_simple) return std::nullopt;
    }
    return Range{body.begin, std::min(end + 1, text_.size())};
  }

  static std::size_t size(Range range) { return range.end - range.begin; }

  [[nodiscard]] bool touch(std::size_t at) const {  // two signs that are one operator
    return text_[at].data() + text_[at].size() == text_[at + 1].data();
  }
  [[nodiscard]] bool is_double(std::size_t at, Text sign) const {
    return text_.is(at, sign) && text_.is(at + 1, sign) && touch(at);
  }

  [[nodiscard]] std::optional<std::uint64_t> number(std::size_t at) const {
    if (!text_.is_number(at)) return std::nullopt;
    Text digits = text_[at];
    if (digits.ends_with('u') || digits.ends_with('U')) digits.remove_suffix(1);
    const bool is_hexadecimal = digits.starts_with("0x");
    if (is_hexadecimal) digits.remove_prefix(2);
    if (!is_hexadecimal && digits.size() > 1 && digits.starts_with('0')) return std::nullopt;
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hexadecimal ? 16 : 10);
    const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
    return is_whole && value <= kManyRounds ? std::optional(value) : std::nullopt;
  }

  // `for (…; i < n; ++i)`, and the like.
  [[nodiscard]] bool counts(const For& loop) const {
    std::size_t at = loop.condition.begin;
    if (size(loop.condition) < 3 || !text_.is_name(at)) return false;
    const Text counter = text_[at];
    const bool up = text_.is(++at, "<");
    if (!up && !text_.is(at, ">")) return false;
    const bool or_equal = text_.is(++at, "=");
    if (or_equal) ++at;
    const auto bound = bound_of({at, loop.condition.end});
    if (!bound || !is_counter(counter, loop, !up && or_equal)) return false;
    if (!bound->empty() && (or_equal || *bound == counter || changes(*bound, loop))) return false;
    return text_.assigns(counter, loop.body) == 0 && steps(counter, loop.step, up);
  }

  // The variable of a bound, which is a number (then empty), `n` or `n - 64`.
  [[nodiscard]] std::optional<Text> bound_of(Range range) const {
    const std::size_t at = range.begin;
    if (size(range) == 1 && number(at)) return Text{};
    if (range.end <= at || !text_.is_name(at)) return std::nullopt;
    if (size(range) == 1) return text_[at];
    if (size(range) == 3 && (text_.is(at + 1, "-") || text_.is(at + 1, "+")) && number(at + 2))
      return text_[at];
    return std::nullopt;
  }

  [[nodiscard]] bool changes(Text name, const For& loop) const {
    return addressed_.contains(name) || text_.assigns(name, loop.body) != 0 ||
           text_.assigns(name, loop.step) != 0 || text_.assigns(name, loop.condition) != 0;
  }

  // What the names in front of the one at `at` declare it as.
  [[nodiscard]] IntegerTypes::Kind type_of(std::size_t at, std::size_t begin) const {
    std::size_t words = at;
    while (words > begin && text_.is_name(words - 1)) --words;
    return macros_.integer_types().of(std::span(list_).subspan(words, at - words));
  }

  // Of a type that is wide enough, since others may never reach a bound, signed if that matters, and whose address is
  // not taken.
  [[nodiscard]] bool is_counter(Text name, const For& loop, bool needs_sign) const {
    if (addressed_.contains(name)) return false;
    const bool own = size(loop.init) > 1 && text_.is_name(loop.init.begin + 1);  // declared by the loop
    bool is_declared = false;
    for (std::size_t i = own ? loop.init.begin + 1 : 1; i < (own ? loop.init.end : text_.size()); ++i) {
      if (!text_.is_name(i) || text_[i] != name || !text_.is_name(i - 1)) continue;
      if (text_[i - 1] == "return" || text_[i - 1] == "else") continue;
      const IntegerTypes::Kind kind = type_of(i, own ? loop.init.begin : 0);
      if (kind == IntegerTypes::Kind::none || (kind == IntegerTypes::Kind::is_unsigned && needs_sign))
        return false;
      is_declared = true;
    }
    return is_declared;
  }

  // The step has that part, and others that count other variables.
  [[nodiscard]] bool steps(Text counter, Range step, bool up) const {
    bool found = false;
    for (std::size_t at = step.begin; at < step.end;) {
      const std::size_t end = std::min(text_.find(",", at, step.end), step.end);
      const auto moved = move_of({at, end});
      if (!moved) return false;
      if (moved->name == counter && (found || moved->up != up)) return false;
      found |= moved->name == counter;
      at = end + 1;
    }
    return found;
  }

  struct Moved {
    Text name;
    bool up;
  };
  // `i++`, `--i`, `i += 16`.
  [[nodiscard]] std::optional<Moved> move_of(Range range) const {
    const std::size_t at = range.begin;
    for (const Text sign : {"+", "-"}) {
      const bool up = sign == "+";
      if (size(range) == 3 && text_.is_name(at) && is_double(at + 1, sign)) return Moved{text_[at], up};
      if (size(range) == 3 && text_.is_name(at + 2) && is_double(at, sign)) return Moved{text_[at + 2], up};
      const bool is_sum = size(range) == 4 && text_.is_name(at) && text_.is(at + 1, sign) &&
                          text_.is(at + 2, "=") && touch(at + 1);
      if (is_sum && (number(at + 3).value_or(0) > 0 || macros_.is_positive(text_[at + 3])))
        return Moved{text_[at], up};
    }
    return std::nullopt;
  }

  // All names of which the address may be taken: also those that stand behind a binary &.
  [[nodiscard]] std::set<Text> addressed() const {
    std::set<Text> names;
    for (std::size_t i = 0; i + 1 < text_.size(); ++i) {
      if (is_double(i, "&")) {
        ++i;
        continue;
      }
      if (!text_.is(i, "&")) continue;
      const std::size_t end = text_.is(i + 1, "(") && text_.balanced() ? text_.behind(i + 1) : i + 2;
      for (std::size_t at = i + 1; at < end; ++at) {
        if (text_.is_name(at)) names.insert(text_[at]);
      }
    }
    return names;
  }

  const std::vector<Token>& list_;
  const MacroExpansion& macros_;
  const CountedLoops loops_;
  const Expressions& text_;
  const std::set<Text> addressed_;
};

}  // namespace

LoopEnd least_certain_end(const std::vector<Token>& list, const MacroExpansion& macros) {
  return Loops(list, macros).least_certain_end();
}

}  // namespace cleave::kernels
