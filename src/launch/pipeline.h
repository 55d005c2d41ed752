// Carries a cut launch out on several queues, so that the end of one slice is filled by the beginning of the
// next, and the program still sees one command on its own queue.
//
// The slices are dealt in turn over the program's queue and helper queues of the same context and device,
// each of them in order. Order with other commands is kept by events and wait lists alone, no callbacks, no
// user events:
//
//   program's queue   … earlier │gate│ 0 ───── 3 ───── 6 ┐         end │ later …
//   helper                      └──▶ 1 ───── 4 ───── 7 ──┤▶ waited for ▲
//   helper                      └──▶ 2 ───── 5 ───── 8 ──┴─────────────┘
//
//   - on an in-order queue the gate is a marker with the program's wait list: it ends when all that came
//   before
//     has ended. On an out-of-order queue a marker without a list would wait for commands that the launch
//     does not wait for; there the first slice is the gate.
//   - the end is on the program's queue and waits for the newest command of every helper, so that later
//     commands of an in-order queue wait for all slices. If the program wants an event, the end is the last
//     slice, whose event that is: a kernel's. Otherwise it is a marker, and the last slice is dealt like the
//     others: a device idles while it waits for the last of them, and natively it does so once.
//   - if the program has a wait list, every slice waits for it, or for something that does: if an event in it
//     fails, no slice runs. If the program wants an event, the slices of each queue are chained, so that it
//     fails if any of them does.
//   - the helpers are flushed before anything waits for them. The program's queue is flushed behind the gate,
//     since helpers wait for it. So no queue waits for one that the program has yet to flush, except where
//     the program's own wait list does.
//   - if slice k cannot be enqueued, what is left goes to the program's queue in one launch (plan::Rest),
//   behind
//     all that helpers have. If that fails too, its error is the call's, and a marker keeps the order if the
//     driver takes one.
//
// Requires of the kernel that its work-groups do not look at each other (plan::Kernel::talks).
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

// The most helpers that a launch can have.
inline constexpr std::size_t kMaxHelpers = 5;

// A queue for the length of a launch. In: an in-order queue that nobody else enqueues on meanwhile; `newest`
// may hold the event of an earlier command there.
struct Lane {
  cl_command_queue queue = nullptr;
  // Out: the event of the first slice here, where there is one: always if the launch wants an event.
  Event first;
  // Out: the event of the newest command here, unless it is `first`. Once that has ended the queue is idle.
  Event newest;
  std::size_t slices = 0;    // Out: of this launch
  bool lacks_event = false;  // the newest command has no event

  [[nodiscard]] cl_event last() const { return newest.get() != nullptr ? newest.get() : first.get(); }
};

// Carries `launch` out over its queue and `helpers` (1 to kMaxHelpers). LaunchResult::first is the first slice's
// on the program's queue; those of the helpers' first slices are in `helpers`. LaunchResult::refused: the driver
// has refused the gate and nothing has been enqueued but, perhaps, a marker. Requires: `cut` has at least
// three slices, in any order.
LaunchResult pipeline(const Table& next, base::Clock& clock, const Launch& launch, const plan::Cut& cut,
                      std::span<Lane> helpers);

}  // namespace cleave::launch
