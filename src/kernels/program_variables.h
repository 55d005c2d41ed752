// Whether a program could keep data in variables of its own, which live as long as the program: those of
// program scope in the global address space, and static ones.
//
// Source: OpenCL C 3.0, sections 6.7.1 "Global Address Space" and 6.11 "Storage-Class Specifiers".
#pragma once

#include <string_view>
#include <vector>

namespace cleave::kernels {

// `texts` are all texts of the program without line splices, `options` its build options. OpenCL C 1.x has no
// such variables, and 3.0 none on a device that says so. Of other programs, knows functions, prototypes,
// types and plain constants, each of them written out, and says yes to all else. Thread-safe; may throw
// std::bad_alloc.
bool has_program_variables(const std::vector<std::string_view>& texts, std::string_view options);

}  // namespace cleave::kernels
