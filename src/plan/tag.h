// How a slice describes the whole launch to a kernel that was built with the prelude (kernels/prelude/prelude.h): by a number
// that the slice carries as its global offset in the third dimension.
//
// The number is negative for the kernel, unlike any real id. Everything is in its low 32 bits, since some drivers keep only
// these and extend the sign. In a dimension that is cut all work-groups must have the same size.
//
// Flat launches, those of one or two dimensions, and of three with size 1 and offset 0 in the third:
//
//   bit  31     1
//   bits 29-30  dimensions of the whole launch, at least 1
//   bit  28     1: one dimension is cut; bits 0-12 are its work-groups, bits 13-25 those before this slice
//               0: the launch's own offset is 0 in every dimension that is cut, and
//   bits 26-27    one dimension is cut (bit 26 + d): bits 0-25 are its work-groups
//                 both are cut: bits 0-12 are the work-groups of dimension 0, bits 13-25 those of dimension 1
//
// Volumes, all others: ids in the third dimension are the tag plus the id in the whole launch, for which the low bits have
// room. So the launch must end below 2^room there, and may have an offset only in dimensions that are not cut.
//
//   bits 29-31  100
//   bits 26-28  the dimensions that are cut (bit 26 + d)
//   bits 0-25   from below: the room for ids (13, 10 or 8 bits if one, two or three dimensions are cut), and the work-groups of
//               each dimension that is cut (13, 8 or 6 bits each), in ascending order
//
// Thread-safe. Nothing here calls OpenCL or allocates.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/cut.h"
#include "plan/ndrange.h"

namespace cleave::plan {

// Whether the launch is a flat one, in the sense above.
bool is_flat(const NDRange& range);

class Tag {
 public:
  // Empty if the launch cannot carry a tag for these slices. Requires: `cut` is one of `range` with at least two
  // slices.
  static std::optional<Tag> of(const NDRange& range, const Cut& cut);

  // The offset in the third dimension for one box of whole work-groups of the launch.
  [[nodiscard]] std::size_t offset(const Slice& box) const;

  // Where the box begins in the third dimension of the launch: the inverse of offset(). An offset that is no tag is returned
  // as it is.
  static std::size_t begin(std::size_t offset);

 private:
  explicit Tag(const NDRange& range) : range_(range) {}
  [[nodiscard]] bool encode_flat(unsigned cut_dims);
  [[nodiscard]] bool encode_volume(unsigned cut_dims);

  NDRange range_;
  std::uint32_t bits_ = 0;        // all bits that do not depend on the slice
  unsigned first_group_dim_ = 3;  // the dimension whose groups before the slice are encoded; 3: none
};

}  // namespace cleave::plan
