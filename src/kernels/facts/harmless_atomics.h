// Which uses of atomics, fences and volatile in a function cannot carry anything from one work-group to another.
//
// Harmless are
//   - atomics on local memory: on a variable or parameter of the function that is certainly in local memory;
//   - fences of local memory only;
//   - additions and the like to integers in global memory whose results are not used, as long as the kernel has no loop
//     (Scan::loops): such operations may be done in any order, and without a loop no group can wait for another's;
//   - volatile, in the declaration of a parameter that only these operations use.
// Whatever is written in another way than those in harmless_atomics.cpp counts as communication.
//
// Source: OpenCL C 3.0, sections 6.7 "Address Space Qualifiers", 6.15.8 "Synchronization Functions" and 6.15.12
// "Atomic Functions".
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "kernels/text/lexer.h"

namespace cleave::kernels {

struct HarmlessAtomics {
  // Words that must have their own meaning.
  static constexpr std::array<std::string_view, 18> kWords = {
      "for",     "while",  "do",       "goto", "if",   "else",     "return", "case",  "local",
      "__local", "global", "__global", "int",  "uint", "unsigned", "long",   "ulong", "CLK_LOCAL_MEM_FENCE"};

  std::vector<bool>
      tokens;  // those of the function that are the names of harmless operations, or harmless qualifiers
  bool add_to_global = false;  // some of them are, as long as there is no loop
  // Some are those of kernels/facts/private_volatiles.h, which are harmless as long as there is no loop that may wait.
  bool has_private_volatiles = false;
};

// `function` are the tokens of one function, from its head to its closing brace. No macro in it may stand for more than a
// value, and none in the program for one of kWords.
HarmlessAtomics find_harmless_atomics(const Tokens& function);

}  // namespace cleave::kernels
