// Inline assembly that only computes with registers, as NVIDIA's programs have it for instructions that compilers do not find:
//
//   asm volatile("bfe.u32 %0, %1, 8, 8;" : "=r"(a) : "r"(b));
//
// It cannot see which work-group it is in, nor touch memory; but what becomes of its operands, pointers among them, is not known.
// Recognised are instructions of PTX, which name the type of their values, on operands of the statement, numbers and registers that it
// declares itself: there memory is named in brackets, functions and labels by names, and what the hardware knows of a work-item by
// names that begin with "%". All other assembly may do anything.
//
// Sources: PTX ISA 8.5, sections 5.2 "Types", 6.4 "Using Addresses, Arrays, and Vectors", 9.7 "Instructions" and 10 "Special
// Registers"; "Inline PTX Assembly in CUDA", which OpenCL C for NVIDIA's devices follows.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "kernels/text/lexer.h"

namespace cleave::kernels {

// The words of such a statement. No macro of the program may stand for one.
inline constexpr std::array<std::string_view, 6> kAssemblyWords = {"asm",      "__asm",      "__asm__",
                                                                   "volatile", "__volatile", "__volatile__"};

// Returns for each token of a function whether it is one of these words in such a statement.
std::vector<bool> find_register_assembly(const Tokens& function);

}  // namespace cleave::kernels
