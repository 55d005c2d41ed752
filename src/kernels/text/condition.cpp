#include "kernels/text/condition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/macro_expander.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;
using Value = std::optional<std::int64_t>;  // empty: unknown

// A token of a condition after the expansion of macros.
struct Operand {
  enum class Kind : std::uint8_t {
    token,
    number,   // `value`, which may be unknown
    anything  // may stand for several tokens that are not known
  };
  Kind kind = Kind::token;
  Text text;
  Value value;
};

// Against deep recursion.
constexpr std::size_t kMaxOperands = 512;
// Against macros that lead to themselves.
constexpr std::size_t kMaxConditionSteps = 4096;

std::optional<std::int64_t> number_of(Text text) {
  while (text.ends_with('l') || text.ends_with('L')) text.remove_suffix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with('0')) {
    base = 8;
  }
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional<std::int64_t>(number) : std::nullopt;
}

Value value_of(Truth truth) {
  return truth == Truth::unknown ? std::nullopt : Value(truth == Truth::yes ? 1 : 0);
}

// The tokens of a condition with its macros replaced, and `defined` by its value.
class Operands {
 public:
  explicit Operands(const MacroTable& macros)
      : macros_(macros),
        expander_([this](Text name) { return MacroExpander::Meaning{followed(name)}; }, kMaxConditionSteps,
                  MacroExpander::Arguments::as_written) {}

  // Empty if there are too many.
  std::optional<std::vector<Operand>> run(std::span<const Token> tokens) && {
    while (!tokens.empty()) {
      const auto defined = std::find_if(tokens.begin(), tokens.end(), is_defined_operator);
      const auto before = static_cast<std::size_t>(defined - tokens.begin());
      const auto expanded = expander_.expand(tokens.first(before));
      if (!expanded || out_.size() + expanded->size() >= kMaxOperands) return std::nullopt;
      for (std::size_t i = 0; i < expanded->size(); ++i)
        add((*expanded)[i], i + 1 < expanded->size() && (*expanded)[i + 1].is("("));
      tokens = tokens.subspan(before);
      if (!tokens.empty()) tokens = tokens.subspan(1 + operand_of_defined(tokens.subspan(1)));
    }
    return std::move(out_);
  }

 private:
  static bool is_defined_operator(const Token& token) {
    return token.kind == Token::Kind::name && token.text == "defined";
  }

  // Null: it is not, since it is not known, or may belong to more than its name.
  [[nodiscard]] const Macro* followed(Text name) const {
    const Macro& macro = macros_.find(name);
    return macro.known_text && !macro.takes_arguments && !macro.text.empty() ? &macro : nullptr;
  }

  std::size_t unknown() {
    out_.push_back({Operand::Kind::anything, {}, {}});
    return 0;
  }

  // Returns the number of tokens that belong to it.
  std::size_t operand_of_defined(std::span<const Token> tokens) {
    const std::size_t at = !tokens.empty() && tokens[0].is("(") ? 1 : 0;
    const std::size_t size = at == 0 ? 1 : 3;
    const bool closed = at == 0 || (tokens.size() > 2 && tokens[2].is(")"));
    if (tokens.size() < size || tokens[at].kind != Token::Kind::name || !closed) return unknown();
    out_.push_back({Operand::Kind::number, {}, value_of(is_defined(tokens[at].text, macros_))});
    return size;
  }

  void add(const Token& token, bool called) {
    if (token.kind == Token::Kind::number) {
      out_.push_back({Operand::Kind::number, token.text, number_of(token.text)});
    } else if (token.kind == Token::Kind::name) {
      add_name(token.text, called);
    } else {
      out_.push_back({Operand::Kind::token, token.kind == Token::Kind::literal ? Text{} : token.text, {}});
    }
  }

  void add_name(Text name, bool called) {
    const Macro::State state = macros_.find(name).state;
    // Of a macro that is replaced by it.
    const bool is_operator = name == "defined";
    if (state == Macro::State::undefined && !is_operator) {
      // Nothing but a macro can be called.
      if (called) unknown();
      out_.push_back({Operand::Kind::number, name, 0});
    } else if (state == Macro::State::predefined && !called) {
      out_.push_back({Operand::Kind::number, name, {}});
    } else {
      unknown();
    }
  }

  const MacroTable& macros_;
  MacroExpander expander_;
  std::vector<Operand> out_;
};

struct Operator {
  Text sign;
  int precedence;
};
// Longer signs come first.
constexpr std::array<Operator, 18> kOperators = {{{"||", 1},
                                                  {"&&", 2},
                                                  {"==", 6},
                                                  {"!=", 6},
                                                  {"<=", 7},
                                                  {">=", 7},
                                                  {"<<", 8},
                                                  {">>", 8},
                                                  {"|", 3},
                                                  {"^", 4},
                                                  {"&", 5},
                                                  {"<", 7},
                                                  {">", 7},
                                                  {"+", 9},
                                                  {"-", 9},
                                                  {"*", 10},
                                                  {"/", 10},
                                                  {"%", 10}}};

Value in_range(std::int64_t value) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  return value >= kMin && value <= kMax ? Value(value) : std::nullopt;
}

Value shift(Text sign, std::int64_t left, std::int64_t right) {
  if (left < 0 || right < 0 || right > 31) return std::nullopt;
  return in_range(sign == "<<" ? left << right : left >> right);
}

Value apply(Text sign, const Value& left, const Value& right) {
  if (sign == "&&" && (left == 0 || right == 0)) return 0;
  if (sign == "||" && ((left && left != 0) || (right && right != 0))) return 1;
  if (!left || !right) return std::nullopt;
  const std::int64_t a = *left;
  const std::int64_t b = *right;
  if (sign == "&&" || sign == "||") return sign == "&&" ? 1 : 0;
  if (sign == "==") return a == b;
  if (sign == "!=") return a != b;
  if (sign == "<=") return a <= b;
  if (sign == ">=") return a >= b;
  if (sign == "<") return a < b;
  if (sign == ">") return a > b;
  if (sign == "<<" || sign == ">>") return shift(sign, a, b);
  if (sign == "|") return a | b;
  if (sign == "^") return a ^ b;
  if (sign == "&") return a & b;
  if (sign == "+") return in_range(a + b);
  if (sign == "-") return in_range(a - b);
  if (sign == "*") return in_range(a * b);
  if (b == 0) return std::nullopt;
  return in_range(sign == "/" ? a / b : a % b);
}

class Parser {
 public:
  explicit Parser(const std::vector<Operand>& operands) : list_(operands) {}

  Value run() && {
    const Value value = contained();
    return failed_ || at_ != list_.size() ? std::nullopt : value;
  }

 private:
  [[nodiscard]] bool is(std::size_t at, Text sign) const {
    return at < list_.size() && list_[at].kind == Operand::Kind::token && list_[at].text == sign;
  }

  bool take(Text sign) {
    if (!is(at_, sign)) return false;
    ++at_;
    return true;
  }

  // An expression of its own: unknown tokens within it cannot belong to what is outside.
  Value contained() {
    const bool before = std::exchange(loose_, false);
    const Value value = conditional();
    return std::exchange(loose_, before) ? std::nullopt : value;
  }

  Value conditional() {
    const Value condition = binary(1);
    if (!take("?")) return condition;
    const Value yes = conditional();
    failed_ |= !take(":");
    const Value no = conditional();
    if (!condition) return std::nullopt;
    return *condition != 0 ? yes : no;
  }

  [[nodiscard]] const Operator* next_operator() const {
    for (const Operator& each : kOperators) {
      const bool first = is(at_, each.sign.substr(0, 1));
      if (first && (each.sign.size() == 1 || (is(at_ + 1, each.sign.substr(1)) && adjacent()))) return &each;
    }
    return nullptr;
  }

  // Whether this sign and the next one stand together.
  [[nodiscard]] bool adjacent() const { return list_[at_].text.data() + 1 == list_[at_ + 1].text.data(); }

  Value binary(int lowest) {
    Value left = unary();
    for (const Operator* next = next_operator(); next != nullptr && next->precedence >= lowest && !failed_;
         next = next_operator()) {
      at_ += next->sign.size();
      const Value right = binary(next->precedence + 1);
      left = apply(next->sign, left, right);
    }
    return left;
  }

  Value unary() {
    if (take("!")) {
      const Value value = unary();
      return value ? Value(*value == 0 ? 1 : 0) : std::nullopt;
    }
    if (take("-")) {
      const Value value = unary();
      return value ? in_range(-*value) : std::nullopt;
    }
    if (take("+")) return unary();
    if (take("~")) {
      const Value value = unary();
      return value ? Value(~*value) : std::nullopt;
    }
    return primary();
  }

  Value primary() {
    if (at_ >= list_.size()) {
      failed_ = true;
      return std::nullopt;
    }
    const Operand& operand = list_[at_];
    if (operand.kind == Operand::Kind::number) {
      ++at_;
      return operand.value;
    }
    if (operand.kind == Operand::Kind::anything) {
      ++at_;
      loose_ = true;
      if (is(at_, "(")) return primary();  // its arguments
      return std::nullopt;
    }
    if (take("(")) {
      const Value value = contained();
      failed_ |= !take(")");
      return value;
    }
    failed_ = true;
    return std::nullopt;
  }

  const std::vector<Operand>& list_;
  std::size_t at_ = 0;
  bool failed_ = false;
  bool loose_ = false;  // tokens that are not known stand at this level of parentheses
};

}  // namespace

Truth evaluate(std::span<const Token> tokens, const MacroTable& macros) {
  const auto operands = Operands(macros).run(tokens);
  const Value value = operands ? Parser(*operands).run() : std::nullopt;
  if (!value) return Truth::unknown;
  return *value != 0 ? Truth::yes : Truth::no;
}

Truth is_defined(std::string_view name, const MacroTable& macros) {
  switch (macros.find(name).state) {
    case Macro::State::undefined:
      return Truth::no;
    case Macro::State::defined:
      return Truth::yes;
    default:
      return Truth::unknown;
  }
}

}  // namespace cleave::kernels
