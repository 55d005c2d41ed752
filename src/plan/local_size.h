// The local size of a launch that names none. All slices of a launch need the same one, so it is chosen before
// cutting. Nothing here calls OpenCL.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "plan/ndrange.h"

namespace cleave::plan {

// How a driver chooses, as far as it is known.
enum class OpenLocalSize : std::uint8_t {
  unknown,
  one_item,  // {1, 1, 1} for every launch
  pocl3,     // plan/pocl_local_size.h
};

// Limits of the choice, in work-items.
struct LocalLimits {
  std::size_t group = 1;     // CL_KERNEL_WORK_GROUP_SIZE
  std::size_t multiple = 1;  // CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE
  Extent items{1, 1, 1};     // CL_DEVICE_MAX_WORK_ITEM_SIZES
};

// A local size that divides `range.global` evenly, leaves at least `slices` work-groups and is a multiple of the
// preferred one; the largest such, so that it is no slower than the driver's choice. `range.local` is not read. Empty
// if the sizes have no good divisor: the driver's choice may then be better, and the launch should not be split.
std::optional<Extent> choose_local_size(const NDRange& range, const LocalLimits& limits, std::size_t slices);

}  // namespace cleave::plan
