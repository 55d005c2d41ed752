// Hands a launch to the driver, whole or in slices, and gives the program what the driver would: its result and its event.
//
// Thread-safe as far as OpenCL's own functions are.
#pragma once

#include <cstddef>

#include "interpose/interposer.h"
#include "interpose/launch/call.h"
#include "interpose/turns/device_turn.h"
#include "learn/cost_table.h"
#include "plan/decide.h"
#include "plan/ndrange.h"

namespace cleave::interpose {

// After so many launches in a row whose pacing was given up, those of a queue are not paced.
inline constexpr unsigned kMaxPacingStalls = 3;

// As one launch, counted for this reason.
cl_int launch_unsplit(Interposer& p, const Call& call, observe::KernelCounters& counters,
                      plan::UnsplitReason why);

// The decision to split a launch.
struct Split {
  const KernelRecord& kernel;
  const QueueRecord& queue;
  const plan::NDRange& range;  // with the local size
  std::size_t slices;          // at least 2
  learn::Key key;              // under which the launch is measured; 0: it is not
  std::size_t fineness = 1;    // PolicyDecision::fineness
};

// The turn in which a launch is enqueued.
struct LaunchTurn {
  TurnUse& use;                // which holds the device
  base::Nanoseconds expected;  // how long the launch takes; 0: unknown
  bool is_certain;             // measured more than now and then
  learn::Key key;              // under which that is kept; 0: it is not
  // The call for which the feeder makes the launch, to be told when the driver has accepted the first slice. Null: the thread
  // is the program's.
  Feeder::Caller* caller = nullptr;
};

// As one launch that is counted as in flight, so that the device is not given away before it has ended. It is flushed, with what
// it waits for, since its end may be waited for before the program flushes it. For use after make_room().
cl_int launch_unsplit_in_turn(Interposer& p, const Call& call, const KernelRecord& kernel,
                              plan::UnsplitReason why, const LaunchTurn& turn);

// As slices. If another thread is enqueueing on the same in-order queue, or the driver refuses the first slice, as one launch.
// With a turn (may be null) few slices are in flight at a time, and the device is given away between two of them if others
// should have it.
cl_int launch_split(Interposer& p, const Call& call, const Split& split, const LaunchTurn* turn = nullptr);

// The launch has been enqueued: what it takes is measured.
void measure_launch(CostFeedback& costs, const Call& call, const QueueRecord& queue,
                    const MeasuredLaunch& measured);

}  // namespace cleave::interpose
