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
  explicit Walk(Text text) : text_(text) {}

  std::optional<Functions> run() && {
    // Braces and directives can also be spelt as digraphs and trigraphs.
    for (const Text spelling : {"<%", "%>", "%:", "??"}) sound_ &= text_.find(spelling) == Text::npos;
    while (sound_ && at_ < text_.size()) step();
    if (!sound_ || depth_ != 0 || !parentheses_.empty() || !conditionals_.empty()) return std::nullopt;
    found_.declarations.append(text_.substr(item_)).push_back('\n');
    lead(outer_);
    return std::move(found_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (ends_line(c)) {
      line_starts_ = true;
      ++at_;
    } else if (is_blank(c) || skip_comment()) {
      if (is_blank(c)) ++at_;
    } else if (c == '#' && line_starts_) {
      directive();
    } else {
      line_starts_ = false;
      token(c);
    }
  }

  void token(char c) {
    if (c == '"' || c == '\'') return skip_literal(c);
    if (starts_name(c)) return name();
    settle_outer(c);
    switch (c) {
      case '=':
        head_.assigns |= depth_ == 0 && parentheses_.empty();
        break;
      case '(':
        open_parenthesis();
        break;
      case ')':
        close_parenthesis();
        break;
      case '{':
        ++depth_;
        break;
      case '}':
        close_brace();
        break;
      case ';':
        if (depth_ == 0 && parentheses_.empty()) end_item(at_ + 1, false);
        break;
      default:
        break;
    }
    ++at_;
    if (c != ')') name_ = Text{};
  }

  void name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    name_ = text_.substr(begin, at_ - begin);
    settle_outer('a');
    if (depth_ == 0) outer_ = name_;
    if (head_.first.empty()) head_.first = name_;
  }

  // The last name outside of braces is what is declared here if a parenthesis follows it at once.
  void settle_outer(char next) {
    if (next != '(' || !parentheses_.empty()) lead(outer_);
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

  void close_brace() {
    sound_ &= depth_ > 0;
    if (sound_ && --depth_ == 0 && parentheses_.empty()) end_item(at_ + 1, true);
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

  // To the end of its line, over comments, whose lines do not count.
  void directive() {
    const std::size_t begin = at_++;
    std::size_t depth = 0;
    while (sound_ && at_ < text_.size() && !ends_line(text_[at_])) {
      const char c = text_[at_];
      if (skip_comment()) continue;
      if (c == '"' || c == '\'') {
        skip_literal(c);
        continue;
      }
      if (c == '{') ++depth;
      if (c == '}') sound_ &= depth-- > 0;
      ++at_;
    }
    sound_ &= depth == 0;
    const Text line = text_.substr(begin, at_ - begin);
    found_.directives.append(line).push_back('\n');
    conditional(line.substr(1));
  }

  // Each branch of a conditional must leave the braces as it found them.
  void conditional(Text line) {
    std::size_t begin = 0;
    while (begin < line.size() && is_blank(line[begin])) ++begin;
    std::size_t end = begin;
    while (end < line.size() && continues_name(line[end])) ++end;
    const Text word = line.substr(begin, end - begin);
    if (word == "if" || word == "ifdef" || word == "ifndef") {
      conditionals_.push_back({depth_, parentheses_.size()});
    } else if (word.starts_with("el") || word == "endif") {
      sound_ &= !conditionals_.empty() && conditionals_.back().depth == depth_ &&
                conditionals_.back().parentheses == parentheses_.size();
      if (sound_ && word == "endif") conditionals_.pop_back();
    }
  }

  bool skip_comment() {
    const Text two = text_.substr(at_, 2);
    if (two == "//") {
      while (at_ < text_.size() && !ends_line(text_[at_])) ++at_;
      return true;
    }
    if (two != "/*") return false;
    const std::size_t end = text_.find("*/", at_ + 2);
    sound_ &= end != Text::npos;
    at_ = sound_ ? end + 2 : text_.size();
    return true;
  }

  void skip_literal(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && !ends_line(text_[at_]); ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    sound_ &= at_ < text_.size() && text_[at_] == quote;
    ++at_;
    name_ = Text{};
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
  std::size_t at_ = 0;
  std::size_t item_ = 0;                  // where the function or declaration under way began
  std::size_t depth_ = 0;                 // of braces
  std::vector<std::size_t> parentheses_;  // the depth of braces at each open one
  std::vector<Conditional> conditionals_;
  Head head_;
  Text name_;   // the name just read, also behind closing parentheses
  Text outer_;  // the name just read outside of braces
  bool line_starts_ = true;
  bool sound_ = true;
  Functions found_;
};

}  // namespace

std::optional<Functions> functions_of(std::string_view text) { return Walk(text).run(); }

}  // namespace cleave::kernels
