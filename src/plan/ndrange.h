// The shapes of launches. Nothing here calls OpenCL.
//
// Source: OpenCL 3.0 API, section 5.8 "Executing kernels" and section 3.2.1 "Execution model: mapping
// work-items onto an NDRange".
#pragma once

#include <array>
#include <cassert>
#include <cstddef>

namespace cleave::plan {

using Extent = std::array<std::size_t, 3>;

// A launch as OpenCL describes it. Sizes and offsets are in work-items. Entries from `dims` on are 1 (sizes) or 0
// (offsets).
struct NDRange {
  unsigned dims = 1;  // 1 to 3
  Extent offset{0, 0, 0};
  Extent global{1, 1, 1};
  Extent local{1, 1, 1};

  // Work-groups in dimension `d`. A last, smaller group (OpenCL 2.0's non-uniform ones) counts as a group. Requires: the
  // local size is explicit.
  [[nodiscard]] std::size_t groups(unsigned d) const {
    assert(local[d] != 0);
    return global[d] / local[d] + (global[d] % local[d] != 0 ? 1 : 0);
  }

  // Work-groups of the whole launch, or the largest std::size_t on overflow.
  [[nodiscard]] std::size_t total_groups() const;

  // Whether dimension `d` ends in a smaller work-group. Requires: the local size is explicit.
  [[nodiscard]] bool uneven(unsigned d) const {
    assert(local[d] != 0);
    return global[d] % local[d] != 0;
  }
};

// One driver launch: a box of whole work-groups of an NDRange, in work-items. `offset` includes the NDRange's own.
struct Slice {
  Extent offset{0, 0, 0};
  Extent global{1, 1, 1};
};

// The number of work-items; the largest std::size_t on overflow.
std::size_t items(const Extent& global);

}  // namespace cleave::plan
