// Finds the macros that a program never uses, whose texts therefore never appear in it.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <deque>
#include <span>
#include <string_view>

#include "kernels/text/preprocess.h"

namespace cleave::kernels {

// Removes the definitions of macros from `compiled` that no code, no other directive, no used macro and no option names.
// Keeps those whose names could be pasted together, those that a compiler's headers may use, and `kept`. `options` is the result of
// options_as_directive().
void drop_unused_macros(std::deque<SourceText>& texts, const Tokens& options,
                        std::span<const std::string_view> kept);

}  // namespace cleave::kernels
