#include "kernels/variables.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/lexer.h"

namespace cleave::kernels {
namespace {

template <std::size_t N>
bool is_one_of(const Token& token, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return token.is(word); });
}

// What a parenthesis may follow that is part of a type.
bool takes_operand(const Token& token) {
  constexpr std::array<std::string_view, 8> kWords = {"__attribute__", "__attribute", "typeof",
                                                      "__typeof",      "__typeof__",  "_Alignas",
                                                      "alignas",       "__declspec"};
  return is_one_of(token, kWords);
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
    // Of a pointer, what stands behind its star.
    constant_ = (constant_ && !token.is("*")) || is_constant(token);
    value_ |= token.is("=") || token.is("[");
    if (!name) return;
    operand_ = takes_operand(token);
    if (operand_) return;
    last_ = token.text;
    ++(brace_ ? names_behind_ : names_);
  }
  // Whether it is the first that may hold parameters.
  bool open_parenthesis() {
    const bool first = !std::exchange(operand_, false) && names_in_front_ == 0;
    if (first) {
      names_in_front_ = std::max(names_, kOne);
      called_ = last_;
    }
    return first;
  }
  void add_parameter(const Token& token) {
    ++parameters_;
    void_ = parameters_ == 1 && token.is("void");
  }
  void open_brace() { brace_ = true; }

  [[nodiscard]] bool is_function() const { return names_in_front_ != 0 && !value_; }

  // The name that begins it, if it is a macro: one that stands alone, or is called.
  [[nodiscard]] std::string_view macro() const {
    const bool alone = names_ == 1 && names_behind_ == 0 && !value_;
    return alone || names_in_front_ == 1 ? first_ : std::string_view{};
  }

  // The name in front of the first parenthesis, or nothing.
  [[nodiscard]] std::string_view called() const { return called_; }

  // At its end. One name in front of a parenthesis may be a macro that declares anything; one within may be
  // what is declared, as in int (x).
  [[nodiscard]] bool may_be_variable() const {
    constexpr std::array<std::string_view, 3> kTypes = {"struct", "union", "enum"};
    const bool type = std::find(kTypes.begin(), kTypes.end(), first_) != kTypes.end() &&
                      (brace_ ? names_behind_ == 0 : names_ == 2) && names_in_front_ == 0 && !value_;
    const bool prototype = is_function() && names_in_front_ > 1 && (parameters_ != 1 || void_);
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
  bool operand_ = false;        // the next parenthesis belongs to the word before it
  std::string_view last_;       // name
  std::string_view called_;     // the name in front of the first parenthesis
  std::size_t parameters_ = 0;  // tokens between parentheses
  bool void_ = false;           // the only one is void
};

// A statement within a function: one with `static` and without a word for the constant address space.
class Statement {
 public:
  void add(const Token& token, bool is_static) {
    static_ |= is_static;
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

using Body = std::span<const Token>;

// What stands for each name that #define gives a meaning, as often as it does.
class Macros {
 public:
  void add(std::span<const Token> directive) {
    if (directive.size() > 2 && directive[1].is("define"))
      bodies_.emplace(directive[2].text, directive.subspan(3));
  }

  [[nodiscard]] bool has(std::string_view name) const { return bodies_.contains(name); }

  // Whether the token is `static`, or a macro that may bring that word in.
  [[nodiscard]] bool is_static(const Token& token) const {
    std::set<std::string_view> seen;
    std::vector<Token> open{token};
    while (!open.empty()) {
      const Token next = open.back();
      open.pop_back();
      if (next.is("static")) return true;
      const auto [first, last] = bodies_.equal_range(next.text);
      if (first == last || !seen.insert(next.text).second) continue;
      for (auto body = first; body != last; ++body)
        open.insert(open.end(), body->second.begin(), body->second.end());
    }
    return false;
  }

  // Whether what the macro stands for declares no variable. It is called where only declarations stand.
  [[nodiscard]] bool is_harmless(std::string_view name) {
    const auto [known, fresh] = harmless_.emplace(name, false);  // false also within itself
    if (!fresh) return known->second;
    const auto [first, last] = bodies_.equal_range(name);
    return known->second = first != last && std::all_of(first, last, [&](const auto& entry) {
                             return is_harmless(entry.first, entry.second);
                           });
  }

 private:
  bool is_harmless(std::string_view name, Body body);

  std::multimap<std::string_view, Body> bodies_;
  std::map<std::string_view, bool> harmless_;  // as far as it was asked
};

class Reader {
 public:
  explicit Reader(Macros& macros) : macros_(macros) {}

  void read(const Token& token) {
    if (depth_ > 0) return within_braces(token);
    if (token.is(")") && parentheses_ > 0) --parentheses_;
    if (parentheses_ == 0) {
      declaration_.add(token);
    } else if (counts_) {
      declaration_.add_parameter(token);
    }
    if (token.is("(") && parentheses_++ == 0) counts_ = declaration_.open_parenthesis();
    if (token.is("{")) {
      declaration_.open_brace();
      ++depth_;
    }
    if (token.is(";") && parentheses_ == 0) end();
  }

  // Where a declaration ends, and where the text does.
  void end() {
    const Declaration ended = std::exchange(declaration_, Declaration{});
    if (!ended.may_be_variable() && !macros_.has(ended.called())) return;
    const std::string_view macro = ended.macro();
    found_ |= macro.empty() || !macros_.is_harmless(macro);
  }

  [[nodiscard]] bool found() const { return found_; }

 private:
  void within_braces(const Token& token) {
    statement_.add(token, macros_.is_static(token));
    if (token.is("{")) ++depth_;
    if (token.is("}") && --depth_ == 0 && declaration_.is_function()) end_function();
    if (!token.is(";") && !token.is("{") && !token.is("}")) return;
    found_ |= std::exchange(statement_, Statement{}).may_be_variable();
  }

  void end_function() {
    const std::string_view macro = std::exchange(declaration_, Declaration{}).macro();
    found_ |= !macro.empty() && !macros_.is_harmless(macro);
  }

  Macros& macros_;
  Declaration declaration_;
  Statement statement_;
  std::size_t depth_ = 0;
  std::size_t parentheses_ = 0;
  bool counts_ = false;  // these are the declaration's first
  bool found_ = false;
};

bool Macros::is_harmless(std::string_view name, Body body) {
  // The parameters, if it has any.
  if (!body.empty() && body[0].is("(") && body[0].text.data() == name.data() + name.size()) {
    while (!body.empty() && !body[0].is(")")) body = body.subspan(1);
    if (!body.empty()) body = body.subspan(1);
  }
  Reader reader(*this);
  for (const Token& token : body) reader.read(token);
  reader.end();
  return !reader.found();
}

std::size_t end_of_line(const std::vector<Token>& tokens, std::size_t at) {
  while (tokens[at].kind != Token::Kind::finish) ++at;
  return at;
}

}  // namespace

bool keeps_variables(const std::vector<std::string_view>& texts) {
  std::vector<std::vector<Token>> lists;
  lists.reserve(texts.size());
  for (const std::string_view text : texts) lists.push_back(tokens_of(text).list);
  Macros macros;
  for (const std::vector<Token>& list : lists) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].directive) continue;
      const std::size_t begin = std::exchange(i, end_of_line(list, i));
      if (is_declaring_macro(list, begin, i)) return true;
      macros.add(std::span(list).subspan(begin, i - begin));
    }
  }
  return std::any_of(lists.begin(), lists.end(), [&](const std::vector<Token>& list) {
    Reader reader(macros);
    for (const Token& token : list) {
      if (!token.directive) reader.read(token);
    }
    reader.end();
    return reader.found();
  });
}

}  // namespace cleave::kernels
