// How a slice describes the whole launch to a kernel that was built with the prelude (kernels/prelude.h): by a number
// that the slice carries as its global offset in the third dimension, where its size is 1.
//
// A launch can carry a tag if its third dimension is free: one- and two-dimensional launches, and three-dimensional
// ones with size 1 and offset 0 there. Dimensions 0 and 1 can be cut; in a dimension that is cut all work-groups must
// have the same size. The number is negative for the kernel, unlike any real id. Everything is in its low 32 bits,
// since some drivers keep only these and extend the sign:
//
//   bit  31     1
//   bits 29-30  dimensions of the whole launch
//   bit  28     1: one dimension is cut; bits 0-12 are its work-groups, bits 13-25 those before this slice
//               0: the launch's own offset is 0 in every dimension that is cut, and
//   bits 26-27    one dimension is cut (bit 26 + d): bits 0-25 are its work-groups
//                 both are cut: bits 0-12 are the work-groups of dimension 0, bits 13-25 those of dimension 1
//
// Thread-safe. Nothing here calls OpenCL or allocates.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/cut.h"
#include "plan/ndrange.h"

namespace cleave::plan {

class Tag {
 public:
  // Empty if the launch cannot carry a tag for these slices. Requires: `cut` is one of `range` with at least two
  // slices.
  static std::optional<Tag> of(const NDRange& range, const Cut& cut);

  // The offset in the third dimension for one box of whole work-groups of the launch.
  [[nodiscard]] std::size_t offset(const Slice& box) const;

 private:
  explicit Tag(const NDRange& range) : range_(range) {}
  [[nodiscard]] bool encode(unsigned cut_dims);

  NDRange range_;
  std::uint32_t bits_ = 0;        // all bits that do not depend on the slice
  unsigned first_group_dim_ = 3;  // the dimension whose groups before the slice are encoded; 3: none
};

}  // namespace cleave::plan
