// The file that an #include names, directly or by macros.
//
// Source: C99 6.10.2 "Source file inclusion" and 6.10.3 "Macro replacement".
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/text/lexer.h"
#include "kernels/text/macro_table.h"

namespace cleave::kernels {

// `tokens` are those behind the keyword of the #include. Empty if the name is not certain.
std::optional<std::string> included_name(std::span<const Token> tokens, const MacroTable& macros);

}  // namespace cleave::kernels
