// Whether a text has a loop that could go on until another work-group has done something.
//
// A loop is certainly not such a one if it is counted: one of the conditions that keep it running compares a variable that each
// round moves by a step with values that do not change meanwhile. All other loops are open. Whatever is written in another
// way than those in open_loops.cpp counts as open.
//
// Source: OpenCL C 3.0, section 6.13 "Control flow"; C99 6.8.5.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <vector>

#include "kernels/text/lexer.h"
#include "kernels/text/macro_expansion.h"

namespace cleave::kernels {

// `list` is a text whose macros are expanded by `macros`, which leaves some as they are.
bool has_open_loop(const std::vector<Token>& list, const MacroExpansion& macros);

}  // namespace cleave::kernels
