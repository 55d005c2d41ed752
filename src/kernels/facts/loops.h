// How certainly the loops of a text end, whatever other work-groups do.
//
// A loop certainly ends if it ends by itself even while the memory that it reads does not change, and if it is not a
// way to wait. Many loops only look like that, so only two shapes count, which loops.cpp recognises token by token:
//   - `for (...; i < BOUND; i += STEP)`, or the same downwards, with the comparison as the whole condition, a bound
//     that does not change, and a counter that nothing else changes;
//   - `do {} while (0)`.
// A loop is counted if one of the conditions that keep it running compares a variable that changes by a step in each
// iteration with values that do not change meanwhile (counted_loops.h). It could check for something for so long that
// this amounts to waiting. All others are open: they could go on until another work-group has done something.
//
// Source: OpenCL C 3.0, section 6.13 "Control flow"; C99 6.8.5.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/text/lexer.h"
#include "kernels/text/macro_expansion.h"

namespace cleave::kernels {

enum class LoopEnd : std::uint8_t { certain, counted, open };

// That of the text's least certain loop. `list` is a text whose macros are expanded by `macros`, which leaves some as they are.
LoopEnd least_certain_end(const std::vector<Token>& list, const MacroExpansion& macros);

}  // namespace cleave::kernels
