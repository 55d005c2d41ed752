// Takes the text of an OpenCL C program apart into preprocessing tokens.
//
// Line splices are undone first (translation phase 2). Comments are dropped. What one compiler could read
// differently from another, or from what is implemented here, makes the text unsound: trigraphs, digraphs,
// universal character names, raw strings, digit separators, C++'s own endings of numbers, literals and
// comments that are not closed or that begin in a message, file names that could begin one, zero bytes, and
// outside of literals and comments the sign $ and everything that is not ASCII.
//
// Source: C99 5.1.1.2 and 6.4; OpenCL C 3.0, section 6.1.
//
// Thread-safe: all functions are pure. They may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::kernels {

struct Token {
  enum class Kind : std::uint8_t {
    name,
    number,
    text,    // a string, a character, or the <name> of an #include; with its quotes
    sign,    // one character, but for "##"
    finish,  // the end of a directive's line
  };
  Kind kind;
  std::string_view text;  // points into the text given
  bool directive;         // part of a directive's line, from the "#" to its finish

  [[nodiscard]] bool is(std::string_view what) const { return text == what && kind != Kind::text; }
};

struct Tokens {
  std::vector<Token> list;
  bool sound = true;
};

// The source without its line splices, as the compiler's translation phase 2 leaves it. Compilers also take a
// backslash with blanks before the line's end.
std::string without_splices(std::string_view source);

// `text` has no line splices and must outlive the answer.
Tokens tokens_of(std::string_view text);

// Characters.
constexpr bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool continues_name(char c) { return starts_name(c) || is_digit(c); }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }

}  // namespace cleave::kernels
