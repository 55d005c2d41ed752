// Regions of memory objects and of the program's memory as OpenCL's calls describe them, and whether they are valid.
//
// Thread-safe: pure.
#pragma once

#include <bit>
#include <cstddef>

#include "remote/client/link/box.h"
#include "remote/client/objects/object_state.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::client {

inline bool is_image(const MemoryState& state) {
  return state.type != CL_MEM_OBJECT_BUFFER && state.type != CL_MEM_OBJECT_PIPE;
}

// As in clEnqueueReadBufferRect, in bytes.
struct Rect {
  const size_t* origin;
  const size_t* region;
  std::size_t row_pitch;
  std::size_t slice_pitch;

  // Fills in pitches that are 0. Returns false if the region is invalid. An empty one is for the driver to judge.
  bool complete();
  // One past its last byte; 0 if it is empty, SIZE_MAX if it is beyond all memory. Requires: complete().
  [[nodiscard]] std::size_t end() const;
  [[nodiscard]] Box box(void* pointer) const;
};

// As in clEnqueueReadImage: a region of an image in pixels, and its pitches in the program's memory.
struct ImageRegion {
  const size_t* origin;
  const size_t* region;
  std::size_t row_pitch;
  std::size_t slice_pitch;

  bool complete(const MemoryState& image);
  [[nodiscard]] Box box(const MemoryState& image, void* pointer) const;
};

// Whether a region can be filled with it, as in clEnqueueFillBuffer.
inline bool is_pattern(const void* pattern, std::size_t size) {
  return pattern != nullptr && size <= kMaxPattern && std::has_single_bit(size);
}

// Requires: a region.
inline bool is_empty(const size_t* region) { return region[0] == 0 || region[1] == 0 || region[2] == 0; }

// Whether the region, which may be empty, lies within the image.
bool is_within(const MemoryState& image, const size_t* origin, const size_t* region);

}  // namespace cleave::remote::client
