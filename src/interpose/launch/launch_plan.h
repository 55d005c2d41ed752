// What is decided about a launch, once, before anything of it is enqueued, and what that follows from.
//
// Not thread-safe: belongs to one call.
#pragma once

#include "base/clock.h"
#include "interpose/policies/policy.h"
#include "interpose/state/records.h"
#include "learn/cost_table.h"
#include "plan/decide.h"
#include "plan/ndrange.h"

namespace cleave::interpose {

struct LaunchPlan {
  const KernelRecord* kernel = nullptr;
  const QueueRecord* queue =
      nullptr;  // null if nothing depended on it; not if the launch is split or measured
  const plan::NDRange* range = nullptr;  // may be null, too; of a launch that is split with the local size
  PolicyDecision decision;               // into how many slices, or why it is unsplit; how it is measured
  learn::SliceAdvice cost{};             // in a turn: what it takes, as far as that is known

  [[nodiscard]] bool is_split() const { return !decision.unsplit_reason; }
  void keep_whole(plan::UnsplitReason why) { decision.unsplit_reason = why; }
  // How long it takes if that has been measured, else 0: a guess from other sizes may be far too short.
  [[nodiscard]] base::Nanoseconds measured() const {
    return cost.measured > 0 ? cost.duration : base::Nanoseconds(0);
  }
};

}  // namespace cleave::interpose
