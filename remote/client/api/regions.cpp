#include "remote/client/api/regions.h"

#include <cstdint>

#include "remote/client/api/memory.h"

namespace cleave::remote::client {

bool Rect::complete() {
  if (origin == nullptr || region == nullptr) return false;
  if (is_empty(region)) return true;
  if (row_pitch == 0) row_pitch = region[0];
  if (row_pitch < region[0]) return false;
  if (slice_pitch == 0) slice_pitch = region[1] * row_pitch;
  // The last slice may be shorter than a whole one.
  return region[2] == 1 || (slice_pitch >= region[1] * row_pitch && slice_pitch % row_pitch == 0);
}

std::size_t Rect::end() const {
  if (is_empty(region)) return 0;
  std::size_t end = 0;
  const auto add = [&](std::size_t first, std::size_t count, std::size_t pitch) {
    std::size_t bytes = 0;
    return !__builtin_add_overflow(first, count, &bytes) && !__builtin_mul_overflow(bytes, pitch, &bytes) &&
           !__builtin_add_overflow(end, bytes, &end);
  };
  const bool fits = add(origin[2], region[2] - 1, slice_pitch) && add(origin[1], region[1] - 1, row_pitch) &&
                    add(origin[0], region[0], 1);
  return fits ? end : SIZE_MAX;
}

Box Rect::box(void* pointer) const {
  auto* const base =
      static_cast<std::byte*>(pointer) + origin[2] * slice_pitch + origin[1] * row_pitch + origin[0];
  return {base, region[0], region[1], region[2], row_pitch, slice_pitch};
}

bool is_within(const MemoryState& image, const size_t* origin, const size_t* region) {
  if (origin == nullptr || region == nullptr) return false;
  const auto extent = extent_of(image);
  for (std::size_t d = 0; d < 3; ++d) {
    if (origin[d] > extent[d] || region[d] > extent[d] - origin[d]) return false;
  }
  return true;
}

bool ImageRegion::complete(const MemoryState& image) {
  if (!is_within(image, origin, region)) return false;
  const std::size_t row = region[0] * image.pixel_bytes;
  if (row_pitch == 0) row_pitch = row;
  if (row_pitch < row) return false;
  const bool lines = image.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const std::size_t slice = lines ? row_pitch : row_pitch * region[1];
  if (slice_pitch == 0) slice_pitch = slice;
  return slice_pitch >= slice || region[2] == 1;
}

Box ImageRegion::box(const MemoryState& image, void* pointer) const {
  // The images of such an array are its rows.
  const bool lines = image.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  return {static_cast<std::byte*>(pointer),
          region[0] * image.pixel_bytes,
          region[1],
          region[2],
          lines ? slice_pitch : row_pitch,
          slice_pitch};
}

}  // namespace cleave::remote::client
