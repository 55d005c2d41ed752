#include "kernels/text/functions.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cleave::kernels {
namespace {

using Text = std::string_view;

bool is_attribute(const Token& token) { return token.is("__attribute__") || token.is("__attribute"); }

// Skips from the opening parenthesis at `at` past the closing one.
std::size_t skip_parentheses(const std::vector<Token>& tokens, std::size_t at) {
  std::size_t depth = 0;
  do {
    if (tokens[at].is("(")) ++depth;
    if (tokens[at].is(")")) --depth;
    ++at;
  } while (at < tokens.size() && depth != 0);
  return at;
}

// Parses what precedes the first brace of an item. Empty if it does not have the form described in functions.h.
std::optional<Function> read_head(const std::vector<Token>& tokens) {
  constexpr std::array<Text, 9> kOthers = {"struct",    "union",    "enum",   "typedef", "class",
                                           "namespace", "template", "extern", "using"};
  Function function;
  bool has_parameters = false;
  for (std::size_t at = 0; at < tokens.size();) {
    const bool opens = at + 1 < tokens.size() && tokens[at + 1].is("(");
    const bool name = tokens[at].kind == Token::Kind::name;
    if (is_attribute(tokens[at]) && opens) {
      at = skip_parentheses(tokens, at + 1);
      continue;
    }
    // Only attributes may follow the parameters.
    if (has_parameters || (!name && !tokens[at].is("*"))) return std::nullopt;
    if (name && opens) {
      function.name = tokens[at].text;
      has_parameters = true;
      at = skip_parentheses(tokens, at + 1);
      continue;
    }
    if (name) function.head.push_back(tokens[at].text);
    ++at;
  }
  const bool other =
      !function.head.empty() && std::find(kOthers.begin(), kOthers.end(), function.head[0]) != kOthers.end();
  return has_parameters && !function.head.empty() && !other ? std::optional(function) : std::nullopt;
}

// Parses the text in one pass. Anything unexpected clears `unambiguous_`.
class FunctionParser {
 public:
  explicit FunctionParser(const Tokens& tokens) : tokens_(tokens.list), unambiguous_(tokens.unambiguous) {}

  std::optional<Functions> run() && {
    while (unambiguous_ && at_ < tokens_.size()) {
      if (tokens_[at_].directive) {
        directive();
      } else {
        token(tokens_[at_++]);
      }
    }
    if (!unambiguous_ || depth_ != 0 || !parentheses_.empty() || !conditionals_.empty()) return std::nullopt;
    found_.ends_between_items = item_.head.empty();
    end_item(false);
    return std::move(found_);
  }

 private:
  [[nodiscard]] Tokens between(std::size_t begin, std::size_t end) const {
    const auto first = tokens_.begin();
    return {{first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)}, true, {}};
  }

  static void append(Tokens& all, const Tokens& more) {
    all.list.insert(all.list.end(), more.list.begin(), more.list.end());
  }

  void token(const Token& token) {
    const bool opens = token.is("(") && parentheses_.empty();
    if (!opens) lead(outer_);
    outer_ = token.kind == Token::Kind::name && depth_ == 0 ? &token : nullptr;
    const bool brace = token.is("{");
    item_.braces |= brace;
    item_.body |= brace && parentheses_.empty();
    if (!item_.body) item_.head.push_back(token);
    if (brace) {
      ++depth_;
    } else if (token.is("(")) {
      parentheses_.push_back(depth_);
    } else if (token.is(")")) {
      close_parenthesis();
    } else if (token.is("}")) {
      close_brace();
    } else if (token.is(";") && depth_ == 0 && parentheses_.empty()) {
      end_item(false);
    }
  }

  // The last name outside of braces is declared here if a parenthesis follows it immediately.
  void lead(const Token* name) {
    if (name != nullptr) found_.outside_names.list.push_back(*name);
  }

  // A macro may drop or repeat its arguments, so braces must be balanced within parentheses.
  void close_parenthesis() {
    unambiguous_ &= !parentheses_.empty() && parentheses_.back() == depth_;
    if (unambiguous_) parentheses_.pop_back();
  }

  void close_brace() {
    unambiguous_ &= depth_ > 0;
    if (unambiguous_ && --depth_ == 0 && parentheses_.empty()) end_item(true);
  }

  // The item ends before at_.
  void end_item(bool closed) {
    Tokens tokens = between(item_.begin, at_);
    auto function = closed && !item_.split_by_conditional ? read_head(item_.head) : std::nullopt;
    if (function) {
      function->tokens = std::move(tokens);
      found_.list.push_back(std::move(*function));
    } else {
      append(found_.declarations, tokens);
      if (item_.braces) append(found_.outside_names, tokens);
    }
    item_ = Item{.begin = at_, .number = item_.number + 1};
  }

  // From the "#" to the end of its line. Macros must be balanced, since they may be expanded anywhere.
  void directive() {
    const std::size_t begin = at_;
    std::vector<Text> open;
    for (; tokens_[at_].kind != Token::Kind::end_of_directive; ++at_) {
      const Token& token = tokens_[at_];
      if (token.is("{") || token.is("(")) open.push_back(token.text);
      if (!token.is("}") && !token.is(")")) continue;
      unambiguous_ &= !open.empty() && open.back() == (token.is("}") ? "{" : "(");
      if (!open.empty()) open.pop_back();
    }
    unambiguous_ &= open.empty();
    ++at_;
    const Text keyword = tokens_[begin + 1].text;
    if ((keyword == "define" || keyword == "undef") && tokens_[begin + 2].kind == Token::Kind::name) {
      found_.definitions.push_back(between(begin, at_));
    } else {
      append(found_.directives, between(begin, at_));
    }
    conditional(keyword);
    if (keyword.starts_with("include"))
      unambiguous_ &= depth_ == 0 && parentheses_.empty() && item_.head.empty();
  }

  // Each branch of a conditional must keep the depth of braces, and stay within a body that it begins in.
  void conditional(Text keyword) {
    const bool begins = keyword == "if" || keyword == "ifdef" || keyword == "ifndef";
    const bool goes_on = keyword.starts_with("el") || keyword == "endif";
    if (!begins && !goes_on) return;
    item_.split_by_conditional |= depth_ == 0 && !item_.head.empty();
    const Place here{depth_, parentheses_.size(), depth_ == 0 ? 0 : item_.number};
    if (begins) return conditionals_.push_back(here);
    unambiguous_ &= !conditionals_.empty() && conditionals_.back() == here;
    if (unambiguous_ && keyword == "endif") conditionals_.pop_back();
  }

  // The current function or declaration.
  struct Item {
    std::size_t begin = 0;  // in the tokens
    std::size_t number = 0;
    std::vector<Token> head = {};  // before its body
    bool braces = false;
    bool body = false;
    bool split_by_conditional = false;  // there is a conditional in its head
  };

  struct Place {
    std::size_t depth;
    std::size_t parentheses;
    std::size_t item;
    bool operator==(const Place&) const = default;
  };

  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;                    // in the tokens
  std::size_t depth_ = 0;                 // of braces
  std::vector<std::size_t> parentheses_;  // the depth of braces at each open parenthesis
  std::vector<Place> conditionals_;
  Item item_;
  const Token* outer_ = nullptr;  // the last name, if outside of braces
  bool unambiguous_;
  Functions found_;
};

}  // namespace

std::optional<Functions> split_functions(const Tokens& tokens) { return FunctionParser(tokens).run(); }

}  // namespace cleave::kernels
