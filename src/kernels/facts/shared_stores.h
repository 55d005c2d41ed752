// Which functions of a program may read or overwrite by plain accesses what another work-group of the launch stores.
//
// Valid programs do not depend on the order of such accesses, but there are programs that are right on the drivers that they
// were written for. Such a function
//   - stores to an element that does not depend on all group or global ids that it uses, so that several work-groups store
//     there ("the last one wins"), unless all store the same constant and nothing reads it; or
//   - reads through a pointer an element other than those that it stores through it, or lets one function of the
//     program read what another one stores. A function that does both is examined by itself.
// Ordinary kernels store each element of their results once and read other buffers, or the same element. Not seen are the same
// buffer behind two pointers, and elements that differ in their text and are the same: docs/correctness.md.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/facts/store_reader.h"

namespace cleave::kernels {

// For each function the name of the pointer through which it does so; empty for the others.
std::vector<std::string_view> find_shared_stores(const std::vector<FunctionStores>& functions);

}  // namespace cleave::kernels
