// The value of the condition of an #if, as far as it is certain for every compiler.
//
// Source: C99 6.10.1 "Conditional inclusion". Values beyond 32 bits, unsigned ones and characters count as unknown.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/text/lexer.h"
#include "kernels/text/macro_table.h"

namespace cleave::kernels {

enum class Truth : std::uint8_t { no, yes, unknown };

// `tokens` are those behind the keyword of an #if or #elif.
Truth evaluate(std::span<const Token> tokens, const MacroTable& macros);

// Whether the macro is defined.
Truth is_defined(std::string_view name, const MacroTable& macros);

}  // namespace cleave::kernels
