// Whether a text has a loop that could go on until something else has changed memory.
//
// A loop certainly is not such a one if it ends by itself while the memory that it reads stays as it is, and nobody would write
// it to wait. Much that looks so does not, so only a few shapes count, which waiting_loops.cpp recognises token by token:
//   - `for (...; i < BOUND; i += STEP)`, and likewise downwards, with the comparison as the whole condition, a bound that stays where
//     it is, and a counter that nothing else moves;
//   - `for (uint r = n; r; r >>= 1)`, with at most one `r--` in a round: r is smaller after each;
//   - `do {} while (0)`.
// All others may wait.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <vector>

#include "kernels/text/lexer.h"
#include "kernels/text/macro_expansion.h"

namespace cleave::kernels {

// `list` is a text whose macros are expanded by `macros`, which leaves some as they are.
bool has_waiting_loop(const std::vector<Token>& list, const MacroExpansion& macros);

}  // namespace cleave::kernels
