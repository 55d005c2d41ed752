// The arguments of a kernel. All kernels have the same:
//
//   out      a word for each work-item, between words that must not change
//   in       1024 words
//   totals   words that all work-items change with atomics (layout: statements.cpp)
//   cells    1024 words that the work-items share out among them
//   origin, extent   the launch's offset and size; extent.w is its number of work-items
//   salt     a number
//   scratch  local memory, a word for each work-item of a group
#pragma once

#include "launch_shapes.h"
#include "observations.h"
#include "opencl.h"
#include "platform.h"

namespace fuzz {

struct Buffers {
  Buffer whole;  // of which `out` is a part, or the same
  Buffer out;
  Buffer in;
  Buffer totals;
  Buffer cells;

  // With words from `random`, for `items` work-items.
  Buffers(cl_context context, Random random, std::size_t items, Observations& observations);
  // Adds a hash of each. No command may be using them.
  void add_to(Observations& observations, cl_command_queue queue) const;
  // Other cells for the kernel's next launch, which the caller may release as soon as it is enqueued.
  Buffer temporary_cells(cl_kernel kernel, Observations& observations) const;
};

constexpr cl_uint kArguments = 8;

// Sets all but those in `left_out` (a bit for each).
void set_arguments(cl_kernel kernel, const Platform& platform, const Buffers& buffers, const Shape& shape,
                   std::uint32_t salt, Observations& observations, unsigned left_out = 0);

}  // namespace fuzz
