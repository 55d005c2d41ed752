#include "kernels/functions.h"

#include <algorithm>
#include <array>

#include "kernels/lexer.h"

namespace cleave::kernels {
namespace {

using Text = std::string_view;

// Walks through the text once. Whatever is not as it should be makes `sound_` false.
class Walk {
 public:
  explicit Walk(Text text) : text_(text), tokens_(tokens_of(text)), sound_(tokens_.sound) {}

  std::optional<Functions> run() && {
    while (sound_ && at_ < tokens_.list.size()) {
      if (tokens_.list[at_].directive) {
        directive();
      } else {
        token(tokens_.list[at_++]);
      }
    }
    if (!sound_ || depth_ != 0 || !parentheses_.empty() || !conditionals_.empty()) return std::nullopt;
    found_.declarations.append(text_.substr(item_)).push_back('\n');
    lead(outer_);
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::size_t position(const Token& token) const {
    return static_cast<std::size_t>(token.text.data() - text_.data());
  }

  void token(const Token& token) {
    if (token.kind == Token::Kind::name) return name(token.text);
    settle_outer(token);
    if (token.is("=")) {
      head_.assigns |= depth_ == 0 && parentheses_.empty();
    } else if (token.is("(")) {
      open_parenthesis();
    } else if (token.is(")")) {
      close_parenthesis();
    } else if (token.is("{")) {
      ++depth_;
    } else if (token.is("}")) {
      close_brace(position(token) + 1);
    } else if (token.is(";") && depth_ == 0 && parentheses_.empty()) {
      end_item(position(token) + 1, false);
    }
    if (!token.is(")")) name_ = Text{};
  }

  void name(Text name) {
    lead(outer_);
    name_ = name;
    outer_ = depth_ == 0 ? name : Text{};
    if (head_.first.empty()) head_.first = name;
  }

  // The last name outside of braces is what is declared here if a parenthesis follows it at once.
  void settle_outer(const Token& next) {
    if (!next.is("(") || !parentheses_.empty()) lead(outer_);
    outer_ = Text{};
  }

  void lead(Text name) {
    if (!name.empty()) found_.leads.append(name).push_back(' ');
  }

  void open_parenthesis() {
    const bool attribute = name_ == "__attribute__" || name_ == "attribute";
    if (attribute && head_.attribute == kNone) head_.attribute = parentheses_.size();
    constexpr std::array<Text, 6> kOperators = {"typeof",   "__typeof", "__typeof__",
                                                "_Alignas", "alignas",  "__declspec"};
    const bool declares = std::find(kOperators.begin(), kOperators.end(), name_) == kOperators.end();
    if (depth_ == 0 && !name_.empty() && declares && head_.attribute == kNone) head_.names.push_back(name_);
    parentheses_.push_back(depth_);
  }

  // A macro may drop or repeat what stands in its parentheses, so braces must not lean out of them.
  void close_parenthesis() {
    sound_ &= !parentheses_.empty() && parentheses_.back() == depth_;
    if (sound_) parentheses_.pop_back();
    if (parentheses_.size() == head_.attribute) {
      head_.attribute = kNone;
      name_ = Text{};
    }
  }

  void close_brace(std::size_t end) {
    sound_ &= depth_ > 0;
    if (sound_ && --depth_ == 0 && parentheses_.empty()) end_item(end, true);
  }

  void end_item(std::size_t end, bool braces) {
    const Text item = text_.substr(item_, end - item_);
    if (braces && head_.is_function()) {
      found_.list.push_back({item, head_.names});
    } else {
      found_.declarations.append(item).push_back('\n');
      if (braces) found_.leads.append(item).push_back('\n');
    }
    head_ = Head{};
    item_ = end;
  }

  // From the "#" to behind the end of its line.
  void directive() {
    const std::size_t begin = at_;
    std::size_t depth = 0;
    for (; tokens_.list[at_].kind != Token::Kind::finish; ++at_) {
      if (tokens_.list[at_].is("{")) ++depth;
      if (tokens_.list[at_].is("}")) sound_ &= depth-- > 0;
    }
    sound_ &= depth == 0;
    const std::size_t first = position(tokens_.list[begin]);
    found_.directives.append(text_.substr(first, position(tokens_.list[at_]) - first)).push_back('\n');
    conditional(tokens_.list[begin + 1].text);
    ++at_;
  }

  // Each branch of a conditional must leave the braces as it found them.
  void conditional(Text keyword) {
    if (keyword == "if" || keyword == "ifdef" || keyword == "ifndef") {
      conditionals_.push_back({depth_, parentheses_.size()});
    } else if (keyword.starts_with("el") || keyword == "endif") {
      sound_ &= !conditionals_.empty() && conditionals_.back().depth == depth_ &&
                conditionals_.back().parentheses == parentheses_.size();
      if (sound_ && keyword == "endif") conditionals_.pop_back();
    }
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // What stands before an item's first brace.
  struct Head {
    std::vector<Text> names;
    Text first;
    bool assigns = false;           // a variable with its value
    std::size_t attribute = kNone;  // the parentheses around the attribute under way

    // When in doubt it is none: then its text counts for every kernel.
    [[nodiscard]] bool is_function() const {
      constexpr std::array<Text, 9> kOthers = {"struct",    "union",    "enum",   "typedef", "class",
                                               "namespace", "template", "extern", "using"};
      return !names.empty() && !assigns && std::find(kOthers.begin(), kOthers.end(), first) == kOthers.end();
    }
  };

  struct Conditional {
    std::size_t depth;
    std::size_t parentheses;
  };

  Text text_;
  Tokens tokens_;
  std::size_t at_ = 0;                    // in the tokens
  std::size_t item_ = 0;                  // where the function or declaration under way began
  std::size_t depth_ = 0;                 // of braces
  std::vector<std::size_t> parentheses_;  // the depth of braces at each open one
  std::vector<Conditional> conditionals_;
  Head head_;
  Text name_;   // the name just read, also behind closing parentheses
  Text outer_;  // the name just read outside of braces
  bool sound_;
  Functions found_;
};

}  // namespace

std::optional<Functions> functions_of(std::string_view text) { return Walk(text).run(); }

}  // namespace cleave::kernels
