// Carries a cut launch out on the program's queue, so that the program sees one command.
//
// What holds, in every mode:
//   - all slices are enqueued before the call returns, so they take the arguments that the program has set;
//   - every slice waits for the program's wait list, so that none of them runs if an event in it fails (there
//     are drivers that pass a failure on to those commands only that wait for the failed one itself). On an
//     out-of-order queue, and wherever the program wants an event, each slice waits for the one before as
//     well, so that the program's event fails if any of them does;
//   - the program's event is the last slice's;
//   - if slice k cannot be enqueued, what is left goes to the driver in one launch (up to three where layers
//     are cut: see plan::Rest). If that fails too, its error is the call's, and nothing is retried. If the
//     very first slice is refused, nothing has been enqueued and the caller is free to hand the launch on
//     whole.
//
// Modes:
//   queued      all slices at once
//   sequential  each slice is waited for before the next one is enqueued; the last one is not. Waiting is
//               only pacing: if a slice does not get to run because something upstream waits for the program,
//               the slices that are left are enqueued at once
//   pipelined   dealt over several queues: see pipeline.h
//
// Thread-safe as far as OpenCL itself is: calls for one kernel object must not run at the same time as calls
// that set its arguments.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

#include "base/clock.h"
#include "base/opencl.h"
#include "launch/event.h"
#include "plan/cut.h"
#include "plan/mode.h"
#include "plan/tag.h"

namespace cleave::launch {

using plan::Mode;

// The program's call, with its local size made explicit.
struct Launch {
  cl_command_queue queue = nullptr;
  cl_kernel kernel = nullptr;
  plan::NDRange range;
  std::optional<plan::Tag> tag;  // every slice carries it, as plan/tag.h says
  cl_uint waits = 0;             // entries of `wait_list`
  const cl_event* wait_list = nullptr;
  bool wants_event = false;
  bool in_order = true;  // the queue is
  // Flushes the queue that an event names, if it still is one: some drivers name queues that are gone.
  bool (*flush)(cl_command_queue) noexcept = nullptr;
  // Where it is not null and not 0, somebody waits for this call to return: stop pacing.
  const std::atomic<int>* abort_pacing = nullptr;
};

struct LaunchResult {
  cl_int error = CL_SUCCESS;
  std::size_t slices = 0;  // launches that the driver took
  // Only where an event was wanted and all went well: the event that the program gets, and the first slice's
  // if that is another one.
  Event last;
  Event first;
  bool stalled = false;        // pacing was given up since a slice did not begin to run
  bool refused = false;        // pipelined only: nothing has been enqueued, another mode may be tried
  base::Nanoseconds added{0};  // time spent here after the first slice was enqueued
};

// Carries it out on the program's queue alone: `mode` is queued or sequential.
// Requires: `cut` has at least two slices of `launch.range`. `next` must outlive the outcome.
LaunchResult enqueue_slices(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
                            Mode mode);

}  // namespace cleave::launch
