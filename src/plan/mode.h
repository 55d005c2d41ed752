// How slices are submitted: one after another on the program's queue, or distributed over several queues. Nothing
// here calls OpenCL or allocates.
//
// On one queue a GPU is underused at the end of each slice, when few work-groups are left. With several queues the
// next slice fills the gap, and almost nothing is lost as soon as the slices in flight fill the device. Many more
// would only make other work wait.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/settings/settings.h"
#include "plan/decide.h"
#include "plan/ndrange.h"

namespace cleave::plan {

enum class Mode : std::uint8_t {
  queued,      // all slices at once on the program's queue
  sequential,  // each slice is waited for before the next one is enqueued
  pipelined,   // distributed in turn over the program's queue and helper queues
};

// Why a launch uses one queue although the settings call for several. name() gives its name in the statistics
// (docs/statistics.md).
enum class SingleQueueReason : std::uint8_t {
  device,        // no gain on this device, or its driver cannot do it
  communicates,  // work-groups may exchange data, so slices must run in order
  few,           // too few slices to fill several queues
  pending,       // a user event is pending: commands that wait for it should not block other queues
  queue,         // a queue with the same properties cannot be created
  busy,          // all helper queues hold unfinished slices of other launches, and no more may be created
  refused,       // the driver refused a helper queue or a marker
};
inline constexpr std::size_t kSingleQueueReasons = 7;
const char* name(SingleQueueReason why);

// A mode; for `pipelined` the number of queues (at least 2, the program's own included), and for `queued` the reason
// why it is not `pipelined`, if the settings call for that.
struct LaunchMethod {
  Mode mode = Mode::queued;
  unsigned queues = 1;
  std::optional<SingleQueueReason> why;

  static LaunchMethod pipeline(unsigned queues) { return {Mode::pipelined, queues, std::nullopt}; }
  static LaunchMethod queue(SingleQueueReason why) { return {Mode::queued, 1, why}; }
};

// Circumstances at the time of the launch.
struct LaunchConditions {
  bool user_event_pending = false;
  bool pacing_stalls = false;  // pacing has been given up too often on that queue
  bool in_callback =
      false;  // within a callback of the program: other commands may need this thread to finish
  bool can_add_queues = false;  // helper queues like the program's can be created
};

LaunchMethod choose_method(base::LaunchMode requested, const Kernel& kernel, const Device& device,
                           const NDRange& range, std::size_t slices, const LaunchConditions& conditions);

// The number of queues on which slices fill the device: one for the slice that begins and as many as hold together
// what the device can; four if that is little work, for kernels whose work-groups take different times. At least 2
// and at most `device.queues`. Requires: at least two slices; local sizes are explicit.
unsigned queues_to_fill(const Device& device, const NDRange& range, std::size_t slices);

// The number of slices that keeps the work in flight within a quantum; the launch takes `quanta` > 0 of them. In
// flight is one slice on one queue, or one on each of several, since slices that run side by side slow each other
// down. At most one per work-group, however long those take; 1 if the whole launch is short enough. Requires: local
// sizes are explicit.
std::size_t slices_in_quantum(double quanta, const NDRange& range, Order order, const Device& device,
                              bool pipelined);

}  // namespace cleave::plan
