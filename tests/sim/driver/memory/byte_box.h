// Boxes of bytes in memory: the arithmetic of rectangular transfers, for buffers and images alike.
#pragma once

#include <cstddef>

#include "tests/sim/driver/types.h"

namespace cleave::sim {

// Where a box lies: its first byte, and how far rows and slices are apart.
struct Layout {
  std::size_t first = 0;
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;
};

// From an origin in bytes, rows and slices, and pitches of which 0 means "as tight as the region". Throws
// CL_INVALID_VALUE for a region or pitch that is none.
Layout layout_of(const std::size_t* origin, const std::size_t* region, std::size_t row_pitch,
                 std::size_t slice_pitch);

// The offset behind the last byte of a box of `region` bytes, rows, slices.
std::size_t end_of(const Layout& layout, const Size3& region);

// Source and target may overlap.
void copy_box(std::byte* to, const Layout& to_layout, const std::byte* from, const Layout& from_layout,
              const Size3& region);

// Repeats `size` bytes of `pattern`; the region is a multiple of it.
void fill_box(std::byte* to, const Layout& layout, const Size3& region, const std::byte* pattern,
              std::size_t size);

}  // namespace cleave::sim
