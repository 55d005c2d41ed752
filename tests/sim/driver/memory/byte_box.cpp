#include "tests/sim/driver/memory/byte_box.h"

#include <cstring>
#include <vector>

#include "tests/sim/driver/core/object.h"

namespace cleave::sim {
namespace {

template <class Visit>
void for_each_row(const Size3& region, Visit visit) {
  for (std::size_t slice = 0; slice < region[2]; ++slice) {
    for (std::size_t row = 0; row < region[1]; ++row) visit(row, slice);
  }
}

std::size_t offset_of(const Layout& layout, std::size_t row, std::size_t slice) {
  return layout.first + row * layout.row_pitch + slice * layout.slice_pitch;
}

}  // namespace

Layout layout_of(const std::size_t* origin, const std::size_t* region, std::size_t row_pitch,
                 std::size_t slice_pitch) {
  require(origin != nullptr && region != nullptr, CL_INVALID_VALUE);
  require(region[0] > 0 && region[1] > 0 && region[2] > 0, CL_INVALID_VALUE);
  if (row_pitch == 0) row_pitch = region[0];
  require(row_pitch >= region[0], CL_INVALID_VALUE);
  if (slice_pitch == 0) slice_pitch = region[1] * row_pitch;
  require(slice_pitch >= region[1] * row_pitch && slice_pitch % row_pitch == 0, CL_INVALID_VALUE);
  return {origin[2] * slice_pitch + origin[1] * row_pitch + origin[0], row_pitch, slice_pitch};
}

std::size_t end_of(const Layout& layout, const Size3& region) {
  return offset_of(layout, region[1] - 1, region[2] - 1) + region[0];
}

// By way of a copy, since the two may share memory.
void copy_box(std::byte* to, const Layout& to_layout, const std::byte* from, const Layout& from_layout,
              const Size3& region) {
  std::vector<std::byte> staging(region[0] * region[1] * region[2]);
  std::byte* at = staging.data();
  for_each_row(region, [&](std::size_t row, std::size_t slice) {
    std::memcpy(at, from + offset_of(from_layout, row, slice), region[0]);
    at += region[0];
  });
  at = staging.data();
  for_each_row(region, [&](std::size_t row, std::size_t slice) {
    std::memcpy(to + offset_of(to_layout, row, slice), at, region[0]);
    at += region[0];
  });
}

void fill_box(std::byte* to, const Layout& layout, const Size3& region, const std::byte* pattern,
              std::size_t size) {
  for_each_row(region, [&](std::size_t row, std::size_t slice) {
    std::byte* at = to + offset_of(layout, row, slice);
    for (std::size_t i = 0; i < region[0]; i += size) std::memcpy(at + i, pattern, size);
  });
}

}  // namespace cleave::sim
