#include "interpose/turns/launch_needs.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cleave::interpose {
namespace {

using turns::Need;
using turns::Ns;
using turns::WorkNeed;

// How long launches are made without turns before they are measured again in turns, which takes duration_of(Need::unknown). Of a time
// without launches only WorkNeed::kRest counts.
constexpr Ns kMeasuredAgain = 30'000'000'000;

}  // namespace

LaunchNeeds::Answer LaunchNeeds::launched(const Launch& launch, Ns now) noexcept {
  const Ns first = first_wait_.exchange(0, std::memory_order_relaxed);
  const Ns latest = latest_wait_.exchange(0, std::memory_order_relaxed);
  latest_queue_.store(launch.queue, std::memory_order_relaxed);
  // Where there were only waits on other queues, the latest one may have been for the launch's event.
  const WorkNeed::Waits waits{first != 0 ? first : latest, latest};

  Answer answer;
  answer.waits = work_.launched({.expected = launch.expected,
                                 .waits = latest != 0 ? std::optional(waits) : std::nullopt,
                                 .in_turns = launch.in_turns,
                                 .turn_waits = launch.turn_waits,
                                 .piece = launch.others.piece},
                                launch.others.busy, now);
  answer.piece = std::max(launch.piece, note_unmeasured(launch, latest != 0 ? waits.first : 0, now));
  // What is known of launches gets out of date while they are not measured.
  unmeasured_ += std::min(now - std::exchange(launched_at_, now), WorkNeed::kRest);
  if (launch.in_turns) unmeasured_ = 0;
  answer.launch = launch.need == Need::none && unmeasured_ > kMeasuredAgain ? Need::unknown : launch.need;
  if (answer.launch == Need::unknown && !unknown_.counts(now)) answer.launch = Need::none;
  return answer;
}

// Of launches that are never measured, and waited for by themselves, the program's wait tells how long they take. Returns that, if it
// is for those before `launch`, and `waited`, when it ended, is not 0.
turns::Ns LaunchNeeds::note_unmeasured(const Launch& launch, Ns waited, Ns now) noexcept {
  Ns took = 0;
  if (waited != 0) {
    if (unmeasured_since_wait_ && launches_ <= WorkNeed::kMostLaunches) took = waited - first_launch_;
    launches_ = 0;
  }
  if (launches_++ == 0) {
    first_launch_ = now;
    unmeasured_since_wait_ = true;
  }
  unmeasured_since_wait_ &= launch.is_never_measured;
  return took;
}

void LaunchNeeds::forget() noexcept {
  first_wait_ = latest_wait_ = 0;
  latest_queue_ = nullptr;
  work_ = {};
  unknown_ = {};
  launched_at_ = unmeasured_ = 0;
  launches_ = 0;
  unmeasured_since_wait_ = false;
}

}  // namespace cleave::interpose
