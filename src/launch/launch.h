// Enqueues the slices of a launch on the program's queue so that they appear to the program as one command.
//
// In every mode:
//   - All slices are enqueued before the function returns, so they use the arguments that the program has set, if these
//     are not changed meanwhile.
//   - Every slice waits for the program's wait list, so that no slice runs if an event in it fails. (Some drivers
//     propagate a failure only to commands that wait for the failed one directly.) On an out-of-order queue, and if
//     the program wants an event, each slice also waits for the one before, so that the program's event fails if any
//     slice does.
//   - The program's event is the last slice's.
//   - If slice k cannot be enqueued, the remainder is enqueued as one launch (up to three if layers are cut: see
//     plan::Remainder). If that fails too, its error is the call's, and nothing is retried. If the first slice is
//     refused, nothing has been enqueued and the caller may forward the whole launch.
//
// Modes:
//   queued      all slices at once
//   sequential  each slice but the last is waited for before the next one is enqueued. This is only pacing: if a
//               slice does not begin because a command before it waits for the program, the other slices are
//               enqueued at once
//   pipelined   distributed over several queues: see pipeline.h
//
// Thread-safe as far as OpenCL itself is: a kernel object must not be launched while its arguments are set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/opencl.h"
#include "launch/event.h"
#include "plan/cut.h"
#include "plan/mode.h"
#include "plan/tag.h"

namespace cleave::launch {

using plan::Mode;

// How a paced wait for a slice ended.
enum class WaitResult : std::uint8_t {
  complete,
  failed,   // the command ended with an error
  stalled,  // the command has not begun to run for too long
  aborted,  // its status cannot be read, or pacing is to end
};

// How a launch is held back between two slices.
class Pacer {
 public:
  virtual ~Pacer() = default;

  // Called once before the first wait. Flushes the queues of the wait list: the program may intend to flush them only
  // after this call, which waits before that.
  virtual void flush_upstream(std::span<const cl_event> wait_list) noexcept = 0;

  // How many slices the next command may stand for, if they form one box.
  virtual std::size_t slices_at_once() noexcept { return 1; }

  // Waits for the latest command, which has been flushed and stands for `slices` slices, or only until the next one may
  // be enqueued.
  virtual WaitResult wait(cl_event command, std::size_t slices) noexcept = 0;
};

// The program's call, with an explicit local size.
struct Launch {
  cl_command_queue queue = nullptr;
  cl_kernel kernel = nullptr;
  plan::NDRange range;
  std::optional<plan::Tag> tag;  // carried by every slice (plan/tag.h)
  cl_uint waits = 0;             // entries of `wait_list`
  const cl_event* wait_list = nullptr;
  bool wants_event = false;
  bool in_order = true;    // the queue
  Pacer* pacer = nullptr;  // sequential mode needs one; pipelined mode is held back if there is one
};

// The global offset with which a box of the launch is enqueued; in `tagged` if it carries the tag.
inline const std::size_t* offset_of(const Launch& launch, const plan::Slice& box, plan::Extent& tagged) {
  if (!launch.tag) return box.offset.data();
  tagged = {box.offset[0], box.offset[1], launch.tag->offset(box)};
  return tagged.data();
}

struct LaunchResult {
  cl_int error = CL_SUCCESS;
  std::size_t slices = 0;          // driver launches that were accepted
  std::size_t slices_of_last = 1;  // for how many slices the last one stands
  // Set only on success and if an event was wanted: the program's event, and the first slice's if that is another.
  Event last;
  Event first;
  bool stalled = false;        // pacing was given up because a slice did not begin
  bool refused = false;        // pipelined only: no slice has been enqueued, another mode may be tried
  base::Nanoseconds added{0};  // time spent here after the first slice was enqueued
};

// Enqueues on the program's queue alone. Requires: `mode` is queued or sequential; `cut` has at least two slices of
// `launch.range`; `next` outlives the result.
LaunchResult enqueue_slices(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
                            Mode mode);

}  // namespace cleave::launch
