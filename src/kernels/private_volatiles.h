// Which volatile qualifiers in a function cannot carry anything from one work-group to another: those of an integer that a statement
// of the function declares by itself, which is private memory of a work-item. Programs write them against a compiler's optimisations.
// Whatever is written in another way than in private_volatiles.cpp counts as communication.
//
// Source: OpenCL C 3.0, section 6.7.4 "The private Address Space Qualifier"; C99 6.7.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <functional>
#include <vector>

#include "kernels/lexer.h"

namespace cleave::kernels {

// Returns for each token of `function`, from its head to its closing brace, whether it is such a qualifier. `hides` says whether macros
// in a piece of code may stand for more than a value. No macro of the program may stand for one of HarmlessAtomics::kWords.
std::vector<bool> find_private_volatiles(const Tokens& function,
                                         const std::function<bool(const Tokens&)>& hides);

}  // namespace cleave::kernels
