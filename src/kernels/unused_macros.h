// Finds the macros that a program never uses, whose texts therefore never appear in it.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <deque>

#include "kernels/preprocess.h"

namespace cleave::kernels {

// Removes the definitions of macros from `compiled` that no code, no other directive, no used macro and no option names.
// Keeps those whose names could be pasted together, and those whose names a compiler's headers or Cleave may use. `options` is
// the result of options_as_directive().
void drop_unused_macros(std::deque<SourceText>& texts, const Tokens& options);

}  // namespace cleave::kernels
