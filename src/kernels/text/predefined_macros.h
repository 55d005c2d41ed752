// Which macros an OpenCL C compiler may define by itself, before the first line of a program.
//
// Compilers differ, and the scan of a program holds for every device. A compiler may define what the language reserves
// for it, what the language and its extensions define, and what its own headers happen to define: lower-case names,
// to which PoCL gives its built-in functions, and names that begin with a word of a vendor or of a known header.
//
// Source: OpenCL C 3.0, section 6.12 "Preprocessor Directives and Macros"; the headers of PoCL 3.1 and of Clang 14
// (opencl-c-base.h, opencl-c.h). The foreign names: hashcat, whose kernels build only where the first of them are not
// defined, runs on the drivers of AMD, Intel and NVIDIA and on PoCL. __cplusplus: C99 6.10.8; headers of Random123, which
// PyOpenCL uses, build in OpenCL C only where it is not defined.
//
// Thread-safe: pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave::kernels {

enum class Predefined : std::uint8_t { never, always, perhaps };

Predefined predefined(std::string_view macro);

}  // namespace cleave::kernels
