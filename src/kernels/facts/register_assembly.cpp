#include "kernels/facts/register_assembly.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/text/name_list.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// Compilers take no more.
constexpr std::size_t kMostOperands = 30;
// The types of operands that are in registers, and numbers.
constexpr Text kOperandTypes = "rhlqfdn";

bool is_space(char c) { return is_blank(c) || ends_line(c); }

Text trimmed(Text text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// "u32": a basic type of PTX.
bool is_type(Text part) {
  return part.size() > 1 && Text("usbf").find(part.front()) != Text::npos && is_digit(part[1]);
}

// "add.cc.u32", of which a part names a type. Instructions in which other work-items take part are not meant: "bar.red.popc.u32".
bool computes_with_values(Text instruction) {
  if (!starts_name(instruction.front()) || instruction.starts_with("bar")) return false;
  bool has_type = false;
  for (std::size_t begin = 0; begin < instruction.size();) {
    const std::size_t end = std::min(instruction.find('.', begin), instruction.size());
    const Text part = instruction.substr(begin, end - begin);
    if (part == "sync" || !std::all_of(part.begin(), part.end(), continues_name)) return false;
    has_type |= begin > 0 && is_type(part);
    begin = end + 1;
  }
  return has_type;
}

// Reads the text of assembly.
class Instructions {
 public:
  explicit Instructions(std::size_t operands) : operands_(operands) {}

  // Whether all of them compute with registers.
  bool compute(Text text) {
    if (text.find('/') != Text::npos) return false;
    text = trimmed(text);
    if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);  // a block
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(';', at), text.size());
      const Text one = trimmed(text.substr(at, end - at));
      if (!one.empty() && !(end < text.size() && is_known(one))) return false;
      at = end + 1;
    }
    return true;
  }

 private:
  bool is_known(Text one) { return one.starts_with(".reg") ? declares(one) : computes(one); }

  // ".reg .u32 a, b"
  bool declares(Text one) {
    const auto words = words_of(one);
    if (one.find_first_of("{}<>") != Text::npos) return false;
    if (words.size() < 3 || words[0] != ".reg" || !words[1].starts_with('.')) return false;
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (!starts_name(words[i].front())) return false;
      if (!std::all_of(words[i].begin(), words[i].end(), continues_name)) return false;
      registers_.insert(words[i]);
    }
    return true;
  }

  // "bfe.u32 %0, %1, 8, 8"
  [[nodiscard]] bool computes(Text one) const {
    if (!has_vectors_only(one)) return false;
    const auto words = words_of(one);
    if (words.size() < 2 || !computes_with_values(words[0])) return false;
    return std::all_of(words.begin() + 1, words.end(), [this](Text word) { return is_operand(word); });
  }

  // Braces enclose operands, behind the instruction.
  static bool has_vectors_only(Text one) {
    bool open = false;
    for (const char c : one) {
      if (c != '{' && c != '}') continue;
      if (open == (c == '{')) return false;
      open = c == '{';
    }
    return !open && !one.starts_with('{');
  }

  [[nodiscard]] bool is_operand(Text word) const {
    if (word.starts_with('%')) {  // with two of them a register of the hardware would begin
      const Text number = word.substr(1);
      std::size_t value = 0;
      for (const char c : number) {
        if (!is_digit(c) || value >= operands_) return false;
        value = value * 10 + static_cast<std::size_t>(c - '0');
      }
      return !number.empty() && value < operands_;
    }
    if (word.starts_with('-')) word.remove_prefix(1);
    if (word.empty()) return false;
    if (is_digit(word.front())) return std::all_of(word.begin(), word.end(), continues_name);
    return registers_.contains(word);
  }

  // Separated by blanks, commas and the braces of vectors.
  static std::vector<Text> words_of(Text text) {
    const auto separates = [](char c) { return is_space(c) || c == ',' || c == '{' || c == '}'; };
    std::vector<Text> words;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && !separates(text[end])) ++end;
      if (end != at) words.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return words;
  }

  std::size_t operands_;
  std::set<Text> registers_;
};

// One statement of assembly.
class Statement {
 public:
  Statement(const std::vector<Token>& list, std::size_t at) : list_(list), at_(at) {}

  // Whether it only computes with registers.
  bool computes() {
    ++at_;
    if (at_ < list_.size() && is_in(kVolatile, list_[at_].text)) ++at_;
    std::string text;
    if (!take("(") || !literals(text)) return false;
    if (!take(":") || !operands(true) || operands_ == 0) return false;
    if (take(":") && !operands(false)) return false;
    return take(")") && is(";") && operands_ <= kMostOperands && Instructions(operands_).compute(text);
  }

 private:
  [[nodiscard]] bool is(Text sign) const {
    return at_ < list_.size() && !list_[at_].directive && list_[at_].is(sign);
  }
  bool take(Text sign) {
    if (!is(sign)) return false;
    ++at_;
    return true;
  }

  [[nodiscard]] bool is_literal() const {
    return at_ < list_.size() && !list_[at_].directive && list_[at_].kind == Token::Kind::literal;
  }

  // What one plain string says, in which only line ends and tabs are escaped.
  bool literal(std::string& text) {
    const Text whole = list_[at_].text;
    if (whole.size() < 2 || whole.front() != '"' || whole.back() != '"') return false;
    for (Text inside = whole.substr(1, whole.size() - 2); !inside.empty(); inside.remove_prefix(1)) {
      if (inside.front() != '\\') {
        text.push_back(inside.front());
        continue;
      }
      inside.remove_prefix(1);
      if (inside.empty() || (inside.front() != 'n' && inside.front() != 't')) return false;
      text.push_back(' ');
    }
    ++at_;
    return true;
  }

  bool literals(std::string& text) {
    while (is_literal()) {
      if (!literal(text)) return false;
    }
    return !text.empty();
  }

  // "=r"(a), "+r"(b) or "r"(c + d), "n"(4); perhaps none.
  bool operands(bool are_outputs) {
    if (is(":") || is(")")) return true;
    do {
      std::string type;
      if (!is_literal() || !literal(type)) return false;
      if (are_outputs && !type.empty() && (type.front() == '=' || type.front() == '+')) {
        type.erase(0, 1);
      } else if (are_outputs) {
        return false;
      }
      if (type.size() != 1 || kOperandTypes.find(type.front()) == Text::npos) return false;
      if (!skip_parentheses()) return false;
      ++operands_;
    } while (take(","));
    return true;
  }

  bool skip_parentheses() {
    if (!is("(")) return false;
    std::size_t depth = 0;
    for (; at_ < list_.size() && !list_[at_].directive; ++at_) {
      if (list_[at_].is(";") || list_[at_].is("{") || list_[at_].is("}")) return false;
      if (list_[at_].is("(")) ++depth;
      if (list_[at_].is(")") && --depth == 0) return ++at_ < list_.size();
    }
    return false;
  }

  const std::vector<Token>& list_;
  std::size_t at_;
  std::size_t operands_ = 0;
};

}  // namespace

std::vector<bool> find_register_assembly(const Tokens& function) {
  const std::vector<Token>& list = function.list;
  std::vector<bool> found(list.size(), false);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].directive || list[i].kind != Token::Kind::name || !is_in(kAssembly, list[i].text)) continue;
    if (!Statement(list, i).computes()) continue;
    found[i] = true;
    if (is_in(kVolatile, list[i + 1].text)) found[i + 1] = true;
  }
  return found;
}

}  // namespace cleave::kernels
