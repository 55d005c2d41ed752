#include "interpose/launch/turn_pacer.h"

#include <algorithm>
#include <utility>

namespace cleave::interpose {
namespace {

// Where nothing is known of a launch, its slices may be so short.
constexpr std::size_t kUntimedAtFirst = 3;
// So many slices, whose ends are looked for often, tell what one takes.
constexpr std::size_t kLearnt = 16;
constexpr int kGain = 8;

}  // namespace

// What is not known may be long.
std::size_t TurnPacer::slices_at_once() noexcept {
  if (slice_.count() <= 0) return 1;
  const auto slices = static_cast<std::size_t>((use_.pace().command + slice_ / 2) / slice_);
  return std::clamp<std::size_t>(slices_ / kMeasuredByCommands, 1, std::max<std::size_t>(slices, 1));
}

// Commands that fill the window: so many waits end before the first of them has.
std::size_t TurnPacer::untimed(std::size_t slices) const {
  const Pace pace = use_.pace();
  const auto command = slice_ * static_cast<base::Nanoseconds::rep>(slices);
  if (command.count() <= 0) return kUntimedAtFirst;
  return std::max(pace.in_flight, static_cast<std::size_t>(pace.window / command)) - 1;
}

// An end is first looked for when it is expected, so that a command never seems to be shorter than that. But then the device
// is idle at times, and the command counts as shorter.
void TurnPacer::learn(base::Nanoseconds took, std::size_t slices) {
  const auto count = static_cast<base::Nanoseconds::rep>(slices);
  timed_ += slices;
  if (slice_.count() == 0) {
    time_ += took;
    if (timed_ >= kLearnt) slice_ = time_ / static_cast<base::Nanoseconds::rep>(timed_);
    return;
  }
  const bool is_too_long = use_.ran_dry();
  slice_ += is_too_long ? -slice_ / kGain : (took / count - slice_) / kGain;
  time_ += is_too_long ? slice_ * count : took;
}

launch::WaitResult TurnPacer::wait(cl_event command, std::size_t slices) noexcept {
  use_.enqueued(
      {.event = command, .expected = slice_ * static_cast<base::Nanoseconds::rep>(slices), .is_part = true});
  most_at_once_ = std::max(most_at_once_, slices);
  const std::uint64_t turn = use_.turn();
  const base::Nanoseconds waited = use_.waited();
  const base::Nanoseconds start = clock_.now();
  const launch::WaitResult how = use_.make_room(Room::for_slices, slice_, abort_);
  // What another thread of the process has begun to wait for before counts from here.
  others_ += std::min(use_.waited() - waited, clock_.now() - start);
  if (how != launch::WaitResult::complete) return how;
  const base::Nanoseconds now = clock_.now();
  if (use_.turn() != turn || slices != std::exchange(slices_of_last_, slices)) {
    since_turn_ = 0;
    static_cast<void>(use_.ran_dry());
  } else if (++since_turn_ > untimed(slices)) {
    learn(now - last_, slices);
  }
  last_ = now;
  return launch::WaitResult::complete;
}

base::Nanoseconds TurnPacer::undisturbed_since() const {
  return use_.turn() == turn_ ? start_ : base::Nanoseconds(0);
}

base::Nanoseconds TurnPacer::measured() const {
  if (timed_ == 0) return base::Nanoseconds(0);
  return base::Nanoseconds(static_cast<base::Nanoseconds::rep>(
      static_cast<double>(time_.count()) / static_cast<double>(timed_) * static_cast<double>(slices_)));
}

}  // namespace cleave::interpose
