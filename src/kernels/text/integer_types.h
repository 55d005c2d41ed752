// Which words declare integers of at least 32 bits: those of the language, and names that the program's typedefs make of them.
//
// A name that two typedefs mean differently, wherever they are, or that one declares in another way than `typedef uint u32;`, is none.
//
// Thread-safe once constructed. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "kernels/text/lexer.h"

namespace cleave::kernels {

class IntegerTypes {
 public:
  enum class Kind : std::uint8_t { none, is_signed, is_unsigned };

  // Reads the typedefs of a text, which must outlive this.
  void add(const Tokens& text);

  // What the words in front of a declared name say of it.
  [[nodiscard]] Kind of(std::span<const Token> words) const;

 private:
  [[nodiscard]] Kind of(std::string_view word) const;
  void add(std::string_view name, Kind kind);

  std::unordered_map<std::string_view, Kind> names_;
};

}  // namespace cleave::kernels
