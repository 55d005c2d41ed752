#include "interpose/turns/turn_pacer.h"

#include <algorithm>
#include <utility>

namespace cleave::interpose {
namespace {

// The slices that fill the window, and one more whose begin was not seen.
constexpr std::size_t kUntimed = 3;
constexpr std::size_t kLeastTimed = 4;

}  // namespace

bool TurnPacer::wants_event() noexcept {
  ++batch_;
  return use_.has_light_neighbour() || batch_ >= kTurnBatch;
}

launch::WaitResult TurnPacer::wait(cl_event slice) noexcept {
  const std::size_t slices = std::max<std::size_t>(1, std::exchange(batch_, 0));
  use_.enqueued({.event = slice, .expected = slice_ * static_cast<base::Nanoseconds::rep>(slices)});
  const std::uint64_t turn = use_.turn();
  const base::Nanoseconds waited = use_.waited();
  const base::Nanoseconds start = clock_.now();
  const launch::WaitResult how = use_.make_room(slice_, abort_);
  // What another thread of the process has begun to wait for before counts from here.
  others_ += std::min(use_.waited() - waited, clock_.now() - start);
  if (how != launch::WaitResult::complete) return how;
  const base::Nanoseconds now = clock_.now();
  if (use_.turn() != turn) {
    since_turn_ = 0;
  } else if (++since_turn_ > kUntimed) {
    time_ += now - last_;
    timed_ += slices;
  }
  last_ = now;
  return launch::WaitResult::complete;
}

base::Nanoseconds TurnPacer::undisturbed_since() const {
  return use_.turn() == turn_ ? start_ : base::Nanoseconds(0);
}

base::Nanoseconds TurnPacer::measured() const {
  if (timed_ < kLeastTimed) return base::Nanoseconds(0);
  return base::Nanoseconds(static_cast<base::Nanoseconds::rep>(
      static_cast<double>(time_.count()) / static_cast<double>(timed_) * static_cast<double>(slices_)));
}

}  // namespace cleave::interpose
