// Which volatile qualifiers in a function cannot carry anything from one work-group to another, unless there are loops that may wait
// (kernels/facts/loops.h): those of an integer that a statement of the function declares by itself, which is private memory of a
// work-item. Programs write them against a compiler's optimisations; where such an integer is an index, the compiler reads other
// memory anew each time, too, so that a loop could wait for that. Whatever is written in another way than in private_volatiles.cpp
// counts as communication.
//
// Source: OpenCL C 3.0, section 6.7.4 "The private Address Space Qualifier"; C99 6.7.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <functional>
#include <vector>

#include "kernels/text/lexer.h"

namespace cleave::kernels {

// Returns for each token of `function`, from its head to its closing brace, whether it is such a qualifier. `hides` says whether a piece
// of code uses macros that may stand for more than numbers. No macro of the program may stand for one of HarmlessAtomics::kWords.
std::vector<bool> find_private_volatiles(const Tokens& function,
                                         const std::function<bool(const Tokens&)>& hides);

}  // namespace cleave::kernels
