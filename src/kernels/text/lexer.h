// Splits the text of an OpenCL C program into preprocessing tokens.
//
// Line splices are undone first (translation phase 2), and comments are dropped. Text that compilers could read
// in different ways, or differently from this implementation, is ambiguous: trigraphs, digraphs, universal
// character names, raw strings, digit separators, numbers that end differently in C++, unclosed literals and
// comments or ones that begin in an #error message, file names that could begin one, zero bytes, and, outside
// of literals and comments, $ and non-ASCII characters.
//
// Source: C99 5.1.1.2 and 6.4; OpenCL C 3.0, section 6.1.
//
// Thread-safe: pure functions. They may throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/text/name_list.h"

namespace cleave::kernels {

struct Token {
  enum class Kind : std::uint8_t {
    name,
    number,
    literal,           // a string, a character, or the <name> of an #include, with its quotes
    punctuator,        // one character, or "##"
    end_of_directive,  // the end of a directive's line
  };
  Kind kind;
  std::string_view text;  // points into the text given
  bool directive;         // part of a directive's line, from the "#" to its end

  [[nodiscard]] bool is(std::string_view what) const {
    return same_word(text, what) && kind != Kind::literal;
  }
};

struct Tokens {
  std::vector<Token> list;
  bool unambiguous = true;
  std::string_view unreadable;  // if not unambiguous: the beginning of the first place that is not
};

// Removes line splices, as the translation phase 2 does. Like compilers, it allows blanks after the backslash. If
// `line_starts` is given, it gets for each line of `source` the place in the result where it begins.
std::string without_splices(std::string_view source, std::vector<std::size_t>* line_starts = nullptr);

// `text` has no line splices and must outlive the result.
Tokens tokens_of(std::string_view text);

// Only the tokens of directives, as tokens_of() finds them.
Tokens directive_tokens_of(std::string_view text);

// The last token of the directive that the one at `at` is a part of.
constexpr std::size_t end_of_directive(std::span<const Token> list, std::size_t at) {
  while (list[at].kind != Token::Kind::end_of_directive) ++at;
  return at;
}

// Calls visit(name) for every name in `text`, which has no line splices, outside of comments and strings.
template <typename Visit>
void for_each_name(std::string_view text, Visit visit) {
  for (const Token& token : tokens_of(text).list) {
    if (token.kind == Token::Kind::name) visit(token.text);
  }
}

// Characters.
constexpr bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool continues_name(char c) { return starts_name(c) || is_digit(c); }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }

}  // namespace cleave::kernels
