// Whether a program could keep data in variables that live as long as the program: those of program scope in
// the global address space, and static ones.
//
// Source: OpenCL C 3.0, sections 6.7.1 "Global Address Space" and 6.11 "Storage-Class Specifiers".
#pragma once

#include <deque>
#include <string_view>

#include "kernels/facts/cause.h"
#include "kernels/text/preprocess.h"

namespace cleave::kernels {

// `texts` are all texts of the program, `options` its build options. False for OpenCL C 1.x and for 3.0 on devices
// without such variables. For other programs, only functions, prototypes, types and plain constants that are written
// out are recognised as harmless; the first thing that is not is noted in `causes`. Thread-safe; may throw
// std::bad_alloc.
bool has_program_variables(const std::deque<SourceText>& texts, std::string_view options,
                           Causes* causes = nullptr);

}  // namespace cleave::kernels
