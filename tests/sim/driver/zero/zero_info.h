// The handles of the zero-cost driver and their answers to queries.
//
// Thread-safe once the handles are bound, which zero_table() does before anybody can have one.
#pragma once

#include <CL/cl_icd.h>

namespace cleave::sim::zero {

struct Static {
  const cl_icd_dispatch* dispatch = nullptr;
};

// The one object of each kind.
template <class ClHandle>
inline Static object;
template <class ClHandle>
ClHandle handle() {
  return reinterpret_cast<ClHandle>(&object<ClHandle>);
}

// Makes the handles point to `table`.
void bind_handles(const cl_icd_dispatch& table);

void add_info_functions(cl_icd_dispatch& table);

}  // namespace cleave::sim::zero
