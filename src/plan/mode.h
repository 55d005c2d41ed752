// How the slices of a launch are carried out: one after another on the program's queue, or dealt over several
// queues. Nothing here calls OpenCL or allocates.
//
// On one queue a GPU is idle at the end of each slice, when fewer and fewer work-groups are left. Over
// several queues the end of one slice is filled by the beginning of the next, and next to nothing is lost as
// soon as the slices that are in flight fill the device. Many more would only make others wait.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/settings.h"
#include "plan/decide.h"
#include "plan/ndrange.h"

namespace cleave::plan {

enum class Mode : std::uint8_t {
  queued,      // all slices at once on the program's queue
  sequential,  // each is waited for before the next one is enqueued
  pipelined,   // dealt in turn over the program's queue and helper queues
};

// Why a launch that would be pipelined by the settings is queued. The names are those of the statistics
// (docs/statistics.md).
enum class SingleQueueReason : std::uint8_t {
  device,   // it gains nothing there, or the driver is not up to it
  talks,    // the kernel's work-groups may look at each other, so they must run in order
  few,      // too few slices to fill several queues
  pending,  // a user event is pending: what waits for it should not hold other queues up
  queue,    // its properties cannot be had for another queue, or it is not one to be copied
  busy,     // all helper queues hold slices of other launches that have not ended, and no more can be made
  refused,  // the driver refused a helper queue, or a marker
};
inline constexpr std::size_t kSingleQueueReasons = 7;
const char* name(SingleQueueReason why);

// The answer: a mode; with `pipelined` on how many queues (at least 2, the program's own included), and with
// `queued` why it is not `pipelined`, if it would have been.
struct LaunchMethod {
  Mode mode = Mode::queued;
  unsigned queues = 1;
  std::optional<SingleQueueReason> why;

  static LaunchMethod pipeline(unsigned queues) { return {Mode::pipelined, queues, std::nullopt}; }
  static LaunchMethod queue(SingleQueueReason why) { return {Mode::queued, 1, why}; }
};

// What else stands for or against a mode at the moment.
struct LaunchConditions {
  bool user_event_pending = false;
  bool pacing_stalls = false;  // pacing has been given up on that queue too often
  bool in_callback = false;  // of the program's: others' commands may need this very thread to come to an end
  bool can_add_queues = false;  // further queues like the program's can be made
};

LaunchMethod choose_method(base::LaunchMode wanted_slices, const Kernel& kernel, const Device& device,
                           const NDRange& range, std::size_t slices, const LaunchConditions& conditions);

// The number of queues on which slices fill the device: one for what begins, and as many as hold together
// what the device can; four where that is little work all the same, for kernels whose work-groups take
// different times. At least 2 and at most `device.queues`. Requires: at least two slices, local sizes are
// explicit.
unsigned queues_to_fill(const Device& device, const NDRange& range, std::size_t slices);

// How many slices keep what is on the device at a time within a quantum, of which the launch takes `quanta`
// > 0: on one queue a slice, on several one on each, since those that run side by side all take longer. At
// most one for each work-group, however long those are; 1 if the launch is that short itself. Requires: local
// sizes are explicit.
std::size_t slices_in_quantum(double quanta, const NDRange& range, Order order, const Device& device,
                              bool pipelined);

}  // namespace cleave::plan
