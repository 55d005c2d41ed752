#include "kernels/facts/private_volatiles.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "kernels/text/name_list.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// Of HarmlessAtomics::kWords.
constexpr std::array<Text, 2> kBeforeBlock = {"else", "do"};
constexpr std::array<Text, 3> kBeforeCondition = {"if", "for", "while"};

class VolatileReader {
 public:
  VolatileReader(const std::vector<Token>& list, const std::function<bool(const Tokens&)>& hides)
      : list_(list), hides_(hides) {}

  std::vector<bool> run() && {
    std::vector<bool> found(list_.size(), false);
    if (has_branches()) return found;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (list_[i].directive) continue;
      if (is_in(kVolatile, list_[i].text) && begins_statement() && is_declaration(i)) found[i] = true;
      follow(i);
      before_ = &list_[i];
    }
    return found;
  }

 private:
  // Where a compiler may skip a part, what stands in front of something is not certain.
  [[nodiscard]] bool has_branches() const {
    bool in_body = false;
    for (std::size_t i = 0; i + 1 < list_.size(); ++i) {
      in_body |= !list_[i].directive && list_[i].is("{");
      if (in_body && list_[i].directive && list_[i].is("#") && !list_[i + 1].is("pragma")) return true;
    }
    return false;
  }

  [[nodiscard]] bool is(std::size_t at, Text sign) const { return at < list_.size() && list_[at].is(sign); }
  [[nodiscard]] bool is_before(Text sign) const { return before_ != nullptr && before_->is(sign); }

  // In a block of statements, not in a structure or in the argument of a macro. Behind a } a type may have ended.
  [[nodiscard]] bool begins_statement() const {
    return parentheses_.empty() && in_blocks_ && !braces_.empty() && (is_before(";") || is_before("{"));
  }

  void follow(std::size_t at) {
    if (is(at, "(")) parentheses_.push_back(before_ != nullptr && is_in(kBeforeCondition, before_->text));
    if (is(at, ")") && !parentheses_.empty()) {
      behind_condition_ = parentheses_.back();
      parentheses_.pop_back();
    }
    if (is(at, "{")) {
      braces_.push_back(in_blocks_);
      in_blocks_ &= braces_.size() == 1 || opens_block();
    }
    if (is(at, "}") && !braces_.empty()) {
      in_blocks_ = braces_.back();
      braces_.pop_back();
    }
  }

  // Behind another word, which may be a macro, a structure may begin.
  [[nodiscard]] bool opens_block() const {
    return begins_statement() || is_before("}") || is_in(kBeforeBlock, before_->text) ||
           (is_before(")") && behind_condition_);
  }

  // volatile INTEGER NAME; or volatile INTEGER NAME = VALUE;
  [[nodiscard]] bool is_declaration(std::size_t at) const {
    std::size_t name = at + 1;
    while (name < list_.size() && is_in(kIntegers, list_[name].text)) ++name;
    if (name == at + 1 || name >= list_.size() || list_[name].kind != Token::Kind::name) return false;
    if (!is(name + 1, ";") && !is(name + 1, "=")) return false;
    const auto ends = [](const Token& token) {
      return token.directive || token.is(";") || token.is("{") || token.is("}");
    };
    const auto first = list_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = std::find_if(first, list_.end(), ends);
    if (end == list_.end() || end->directive || !end->is(";")) return false;
    return !declares_another(first, end) && !hides_({{first, end}, true, {}});
  }

  // A pointer to what is volatile, say.
  static bool declares_another(std::vector<Token>::const_iterator at,
                               std::vector<Token>::const_iterator end) {
    std::size_t depth = 0;
    for (; at != end; ++at) {
      if (at->is("(")) ++depth;
      if (at->is(")") && depth > 0) --depth;
      if (at->is(",") && depth == 0) return true;
    }
    return false;
  }

  const std::vector<Token>& list_;
  const std::function<bool(const Tokens&)>& hides_;
  const Token* before_ = nullptr;  // outside of directives
  std::vector<bool> parentheses_;  // that are open: whether a condition is in them
  bool behind_condition_ = false;  // of those that were closed last
  std::vector<bool> braces_;       // that are open: `in_blocks_` in front of them
  bool in_blocks_ = true;          // all open braces are those of blocks
};

}  // namespace

std::vector<bool> find_private_volatiles(const Tokens& function,
                                         const std::function<bool(const Tokens&)>& hides) {
  return VolatileReader(function.list, hides).run();
}

}  // namespace cleave::kernels
