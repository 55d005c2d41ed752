// What in the functions of a program lets its work-groups depend on each other without atomics: loops, and stores
// that other work-groups see.
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/text/functions.h"
#include "kernels/text/macro_expansion.h"

namespace cleave::kernels {

struct GroupOrder {
  bool open_loops = false;  // has open loops (kernels/facts/loops.h)
  bool may_wait = false;    // has a loop that does not certainly end, or leads to itself
  std::string_view shared;  // the pointer to what other work-groups see; empty if there is none
};

// For each of the functions, whose tokens must be valid. What macros hide that are not expanded is assumed of loops, and not
// seen of stores.
std::vector<GroupOrder> group_order_of(const std::vector<const Function*>& functions, MacroExpansion& macros);

// The same for text that is not split into functions, of which stores are not followed.
GroupOrder group_order_of(const Tokens& text, MacroExpansion& macros);

}  // namespace cleave::kernels
