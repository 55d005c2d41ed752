// How certainly the loops of a text end, whatever other work-groups do.
//
// A loop certainly ends if it does by itself while the memory that it reads stays as it is, and nobody would write it to wait. Much
// that looks so does not, so only two shapes count, which loops.cpp recognises token by token:
//   - `for (...; i < BOUND; i += STEP)`, and likewise downwards, with the comparison as the whole condition, a bound that stays where
//     it is, and a counter that nothing else moves;
//   - `do {} while (0)`.
// A loop is counted if one of the conditions that keep it running compares a variable that each round moves by a step with values
// that do not change meanwhile (counted_loops.h). It could look for something for so long that it may as well wait. All others are
// open: they could go on until another work-group has done something.
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
