// What one function stores to global memory and reads from it by plain accesses, through its pointers.
//
// Pointers that certainly point to local, private or constant memory are left out, and so are pointers to const, through
// which nothing is stored. A pointer that is computed from another one counts as the same.
//
// Source: OpenCL C 3.0, sections 6.7 "Address Space Qualifiers" and 6.15.7 "Vector Data Load and Store Functions".
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/text/lexer.h"

namespace cleave::kernels {

// The dimensions whose global or group id a value depends on, as bits.
using Dimensions = unsigned;
constexpr Dimensions kAllDimensions = 7;

struct Access {
  std::size_t pointer = 0;  // in FunctionStores::pointers
  bool reads = false;
  bool writes = false;
  std::string element;        // how it is written; elements with different texts may be the same
  Dimensions dimensions = 0;  // on which the element depends
  std::string_view value;     // if a constant is stored: the constant
  std::string_view callee;    // the pointer is passed to this function of the program, which may do both
  std::size_t argument = 0;   // as this argument
};

struct FunctionStores {
  struct Parameter {
    bool followed = false;
    bool constant = false;    // a pointer to const
    std::size_t pointer = 0;  // if followed
  };
  std::string_view name;
  bool kernel = false;
  std::vector<Parameter> parameters;
  std::vector<std::string_view> pointers;  // the names
  std::vector<Access> accesses;
  Dimensions dimensions = 0;  // of the ids that the function queries itself
};

// `text` is the function named `name`, from its head on, with its macros expanded; `functions` are those of the program.
FunctionStores read_stores(const std::vector<Token>& text, std::string_view name,
                           const std::set<std::string_view>& functions);

}  // namespace cleave::kernels
