#include "kernels/variables.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cleave::kernels {
namespace {

template <std::size_t N>
bool is_one_of(const Token& token, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return token.is(word); });
}

// Samplers live in the constant address space too.
bool is_constant(const Token& token) {
  constexpr std::array<std::string_view, 3> kWords = {"constant", "__constant", "sampler_t"};
  return is_one_of(token, kWords);
}

// What stands outside of all braces and parentheses of one declaration, up to its semicolon.
class Declaration {
 public:
  void add(const Token& token) {
    const bool name = token.kind == Token::Kind::name;
    if (name && first_.empty()) first_ = token.text;
    constant_ |= is_constant(token);
    value_ |= token.is("=") || token.is("[");
    if (!name) return;
    attribute_ = token.is("__attribute__") || token.is("attribute");
    if (attribute_) return;
    ++(brace_ ? names_behind_ : names_);
  }
  void open_parenthesis() {
    if (!attribute_ && names_in_front_ == 0) names_in_front_ = std::max(names_, kOne);
    attribute_ = false;
  }
  void open_brace() { brace_ = true; }

  [[nodiscard]] bool is_function() const { return names_in_front_ != 0 && !value_; }

  // At its semicolon. One name in front of a parenthesis may be a macro that declares anything.
  [[nodiscard]] bool may_be_variable() const {
    constexpr std::array<std::string_view, 3> kTypes = {"struct", "union", "enum"};
    const bool type = std::find(kTypes.begin(), kTypes.end(), first_) != kTypes.end() &&
                      (brace_ ? names_behind_ == 0 : names_ == 2) && names_in_front_ == 0 && !value_;
    const bool prototype = is_function() && names_in_front_ > 1;
    return names_ != 0 && !constant_ && first_ != "typedef" && !type && !prototype;
  }

 private:
  static constexpr std::size_t kOne = 1;

  std::string_view first_;
  std::size_t names_ = 0;           // before its first brace
  std::size_t names_behind_ = 0;    // behind it
  std::size_t names_in_front_ = 0;  // of its first parenthesis; 0: it has none
  bool constant_ = false;
  bool value_ = false;
  bool brace_ = false;
  bool attribute_ = false;  // the next parenthesis is an attribute's
};

// A statement within a function: one with `static` and without a word for the constant address space.
class Statement {
 public:
  void add(const Token& token) {
    static_ |= token.is("static");
    constant_ |= is_constant(token);
  }
  [[nodiscard]] bool may_be_variable() const { return static_ && !constant_; }

 private:
  bool static_ = false;
  bool constant_ = false;
};

// A macro that could declare one wherever it is called.
bool is_declaring_macro(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
  constexpr std::array<std::string_view, 3> kWords = {"global", "__global", "static"};
  bool word = false;
  bool semicolon = false;
  for (std::size_t i = begin; i < end; ++i) {
    word |= is_one_of(tokens[i], kWords);
    semicolon |= tokens[i].is(";");
  }
  return word && semicolon;
}

class Reader {
 public:
  // Whether the token ends a declaration that may be a variable.
  bool finds_one(const Token& token) {
    if (depth_ > 0) return within_braces(token);
    if (parentheses_ == 0) declaration_.add(token);
    if (token.is("(") && parentheses_++ == 0) declaration_.open_parenthesis();
    if (token.is(")") && parentheses_ > 0) --parentheses_;
    if (token.is("{")) {
      declaration_.open_brace();
      ++depth_;
    }
    if (!token.is(";") || parentheses_ != 0) return false;
    return std::exchange(declaration_, Declaration{}).may_be_variable();
  }

 private:
  bool within_braces(const Token& token) {
    statement_.add(token);
    if (token.is("{")) ++depth_;
    if (token.is("}") && --depth_ == 0 && declaration_.is_function()) declaration_ = Declaration{};
    if (!token.is(";") && !token.is("{") && !token.is("}")) return false;
    return std::exchange(statement_, Statement{}).may_be_variable();
  }

  Declaration declaration_;
  Statement statement_;
  std::size_t depth_ = 0;
  std::size_t parentheses_ = 0;
};

}  // namespace

bool keeps_variables(const std::vector<Token>& tokens) {
  Reader reader;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].directive) {
      if (reader.finds_one(tokens[i])) return true;
      continue;
    }
    const std::size_t begin = i;
    while (tokens[i].kind != Token::Kind::finish) ++i;
    if (is_declaring_macro(tokens, begin, i)) return true;
  }
  return false;
}

}  // namespace cleave::kernels
