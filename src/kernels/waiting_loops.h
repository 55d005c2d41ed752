// Whether a text has a loop that could go on until something else has changed memory.
//
// A loop certainly is not such a one if it ends by itself while the memory that it reads stays as it is, and nobody would write
// it to wait. These are:
//   - counted loops (kernels/counted_loops.h) whose counter moves towards a bound in memory that the work-item alone has;
//   - `for (i = 0; i < BOUND; i += STEP)`, where the bound may be read from memory, if that comparison is the whole condition.
//     Each round brings the counter closer to a bound that stays where it is;
//   - `for (r = n; r; r >>= 1)`, with at most one `r--` in a round: r is smaller after each.
// All others may wait, and so does whatever is written in another way than those in waiting_loops.cpp.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <vector>

#include "kernels/lexer.h"
#include "kernels/macro_expansion.h"

namespace cleave::kernels {

// `list` is a text whose macros are expanded by `macros`, which leaves some as they are.
bool has_waiting_loop(const std::vector<Token>& list, const MacroExpansion& macros);

}  // namespace cleave::kernels
