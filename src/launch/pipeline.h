// Enqueues the slices of a launch on several queues, so that each slice fills the gap at the end of the one before,
// while the program still sees one command on its own queue.
//
// Slices are distributed in turn over the program's queue and in-order helper queues of the same context and device.
// Order with other commands is kept by events and wait lists alone; there are no callbacks and no user events:
//
//   program's queue   … earlier │gate│ 0 ───── 3 ───── 6 ┐         end │ later …
//   helper                      └──▶ 1 ───── 4 ───── 7 ──┤▶ waited for ▲
//   helper                      └──▶ 2 ───── 5 ───── 8 ──┴─────────────┘
//
//   - Gate: on an in-order queue, a marker that ends when all earlier commands have ended. On an out-of-order queue a
//     marker without a list would wait for unrelated commands, so the first slice is the gate.
//   - End: on the program's queue, waits for the newest command of every helper, so that later commands of an in-order
//     queue wait for all slices. If the program wants an event, the end is the last slice, and the event is therefore
//     a kernel's. Otherwise it is a marker, and the last slice is distributed like the others, so that the device does
//     not idle before a last slice.
//   - Wait list: every slice waits for the program's list, directly or through another slice, so that no slice runs if
//     an event in it fails. If the program wants an event, the slices of each queue are chained, so that it fails if
//     any slice does.
//   - Flushes: the helpers are flushed before anything waits for them, and the program's queue after the gate, for
//     which the helpers wait. So no queue waits for one that the program has yet to flush, unless the program's own
//     wait list does.
//   - Failure: if slice k cannot be enqueued, the remainder (plan::Remainder) is enqueued on the program's queue after
//     all slices of the helpers. If that fails too, its error is the call's, and a marker keeps the order if the
//     driver accepts one.
//
// Requires: the kernel's work-groups do not exchange data (plan::needs_order).
//
// Thread-safe as launch.h is.
#pragma once

#include <cstddef>
#include <span>

#include "base/clock.h"
#include "base/opencl.h"
#include "launch/event.h"
#include "launch/launch.h"
#include "plan/cut.h"

namespace cleave::launch {

// The most helper queues of one launch.
inline constexpr std::size_t kMaxHelpers = 5;

// A queue for the duration of a launch. In: an in-order queue on which nothing else is enqueued meanwhile; `newest`
// may hold the event of an earlier command there.
struct Lane {
  cl_command_queue queue = nullptr;
  // Out: the event of the first slice here, if it has one. It always has if the launch wants an event.
  Event first;
  // Out: the event of the newest command here, unless that is `first`. Once it has ended the queue is idle.
  Event newest;
  std::size_t slices = 0;    // Out: of this launch
  bool lacks_event = false;  // Out: the newest command has no event

  [[nodiscard]] cl_event last() const { return newest.get() != nullptr ? newest.get() : first.get(); }
};

// Enqueues `launch` on its queue and `helpers` (1 to kMaxHelpers). LaunchResult::first is the first slice's event on
// the program's queue; those of the helpers are in `helpers`. LaunchResult::refused: the driver refused the gate, and
// nothing has been enqueued but, perhaps, a marker. Requires: `cut` has at least three slices, in any order.
LaunchResult pipeline(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
                      std::span<Lane> helpers);

}  // namespace cleave::launch
