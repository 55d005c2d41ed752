// The arithmetic of cutting one launch into slices. Nothing here calls OpenCL or allocates.
//
// Source: "GPGPU task management ... virtual machines", Algorithm 1: VMs × α groups of equal size, and the
// remainder. The remainder is spread over the first slices here, one unit each, so that no slice is much
// smaller or larger. Cuts are made between work-groups only, where the paper cuts between threads, and in
// ascending order of linear work-group id, so that a group that looks back at earlier groups finds them done.
//
// The order is kept by cutting from the outside in. The outermost dimension with more than one group is cut
// into slabs. If it has fewer groups than slices are wanted, each of its layers (one group thick) is cut by
// itself along the next dimension, and so on: the slices are then boxes.
//
// Thread-safe: all functions are pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "plan/ndrange.h"

namespace cleave::plan {

// What is left of a launch from some slice on, as the fewest boxes, in ascending linear group id.
struct Rest {
  std::array<Slice, 3> boxes{};
  unsigned count = 0;  // 1 to 3
};

// How a launch is cut: a value that computes each slice when asked, so that a plan of a million slices costs
// nothing.
class Cut {
 public:
  // Cuts `range` into at most `wanted` slices: exactly `wanted` where the launch has as many work-groups,
  // else one for each group. Requires: local sizes are explicit and not 0; `wanted` is at least 1.
  Cut(const NDRange& range, std::size_t wanted);

  // How many slices there are, at least 1. With 1 the launch stays whole.
  [[nodiscard]] std::size_t count() const { return count_; }

  // Slice `index` of `count()`. The slices cover every work-group of the launch once, in ascending linear
  // group id. Along the dimension that is cut, the sizes of two slabs differ by at most one group, the larger
  // ones first. Of two layers, one is cut into at most one slice more than the other.
  [[nodiscard]] Slice slice(std::size_t index) const;

  // Whether any two slices differ in dimension `d`.
  [[nodiscard]] bool cuts(unsigned d) const;

  // Everything from slice `index` of `count()` on.
  [[nodiscard]] Rest rest(std::size_t index) const;

  // What becomes of a last, smaller group in a dimension that is cut: there is none, it shares its slice with
  // full groups, or it is launched alone. A driver that accepts the whole launch accepts the first two for
  // sure: a launch that is smaller than its own work-group is another matter.
  enum class Uneven : std::uint8_t { none, with_others, alone };
  [[nodiscard]] Uneven uneven() const;

 private:
  // Narrows dimension `d` of `box` to `size` groups from group `first` of the launch on.
  void take(Slice& box, unsigned d, std::size_t first, std::size_t size) const;

  NDRange range_;
  Extent groups_;
  std::size_t count_;
};

}  // namespace cleave::plan
