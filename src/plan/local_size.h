// The local size of a launch that names none. All slices of a launch must have the same one, so it is made
// explicit before cutting. Nothing here calls OpenCL.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <optional>

#include "plan/ndrange.h"

namespace cleave::plan {

// What bounds the choice, all in work-items.
struct LocalLimits {
  std::size_t group = 1;     // CL_KERNEL_WORK_GROUP_SIZE
  std::size_t multiple = 1;  // CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE
  Extent items{1, 1, 1};     // CL_DEVICE_MAX_WORK_ITEM_SIZES
};

// A local size that divides `range.global` evenly and leaves at least `slices` work-groups, as large as that
// allows and a multiple of the preferred one: the driver's own choice costs no less. `range.local` is not
// read. Empty where the sizes have no good divisor; then the driver's choice may be better and the launch
// should stay whole.
std::optional<Extent> choose_local_size(const NDRange& range, const LocalLimits& limits, std::size_t slices);

}  // namespace cleave::plan
