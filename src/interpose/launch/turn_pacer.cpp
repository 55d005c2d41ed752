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

// Before so many launches have been measured, the end of a slice is looked for often, so that an estimate that is too long
// does not confirm itself.
constexpr std::uint64_t kCertain = 4;

// Few slices are in flight in a turn, so more queues would not help.
plan::LaunchMethod held_back(plan::LaunchMethod method, std::size_t in_flight) {
  constexpr unsigned kQueues = 2;
  if (method.mode == plan::Mode::pipelined && in_flight > 1) {
    method.queues = std::min(method.queues, kQueues);
  } else {
    method.mode = plan::Mode::sequential;
  }
  return method;
}

}  // namespace

// A launch that is whole because there was no room for its slices has waited as long as it may.
void TurnPacer::make_room() {
  if (plan_.decision.unsplit_reason == plan::UnsplitReason::shared) return;
  static_cast<void>(use_->make_room(Room::for_launch, plan_.cost.duration));
}

// A kernel that may wait for the program, which must not wait for it, is not counted as in flight.
bool TurnPacer::wants_event(const Call& call) {
  return !plan_.kernel->facts.may_wait && use_->wants_event(whole(call, nullptr));
}

void TurnPacer::note_whole(const Call& call, cl_event event) {
  if (plan_.kernel->facts.may_wait) return;
  if (event != nullptr) {
    LaunchPacer::flush_upstream({call.wait_list, call.waits});
    p_.next.clFlush(call.queue);
  }
  use_->enqueued(whole(call, event));
}

bool TurnPacer::begin(plan::LaunchMethod& method, std::size_t slices, const std::atomic<int>* abort) {
  const bool is_certain = plan_.cost.measured >= kCertain;
  slices_ = slices;
  abort_ = abort;
  if (is_certain) slice_ = plan_.cost.duration / static_cast<base::Nanoseconds::rep>(slices);
  start_ = p_.clock.now();
  turn_ = use_->turn();
  method = held_back(method, use_->pace().in_flight);
  room_ = method.mode == plan::Mode::pipelined ? Room::for_slices : Room::for_ordered_slices;
  return true;
}

// What is not known may be long.
std::size_t TurnPacer::slices_at_once() noexcept {
  if (slice_.count() <= 0) return 1;
  const auto slices = static_cast<std::size_t>((use_->pace().command + slice_ / 2) / slice_);
  return std::clamp<std::size_t>(slices_ / kMeasuredByCommands, 1, std::max<std::size_t>(slices, 1));
}

// Commands that fill the window: so many waits end before the first of them has.
std::size_t TurnPacer::untimed(std::size_t slices) const {
  const Pace pace = use_->pace();
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
  const bool is_too_long = use_->ran_dry();
  slice_ += is_too_long ? -slice_ / kGain : (took / count - slice_) / kGain;
  time_ += is_too_long ? slice_ * count : took;
}

launch::WaitResult TurnPacer::wait(cl_event command, std::size_t slices) noexcept {
  use_->enqueued(
      {.event = command, .expected = slice_ * static_cast<base::Nanoseconds::rep>(slices), .is_part = true});
  most_at_once_ = std::max(most_at_once_, slices);
  const std::uint64_t turn = use_->turn();
  const base::Nanoseconds waited = use_->log().waited();
  const base::Nanoseconds start = p_.clock.now();
  const launch::WaitResult how = use_->make_room(room_, slice_, abort_);
  // What another thread of the process has begun to wait for before counts from here.
  others_ += std::min(use_->log().waited() - waited, p_.clock.now() - start);
  if (how != launch::WaitResult::complete) return how;
  const base::Nanoseconds now = p_.clock.now();
  if (use_->turn() != turn || slices != std::exchange(slices_of_last_, slices)) {
    since_turn_ = 0;
    static_cast<void>(use_->ran_dry());
  } else if (++since_turn_ > untimed(slices)) {
    learn(now - last_, slices);
  }
  last_ = now;
  return launch::WaitResult::complete;
}

// From the slices between which the device was not passed on; 0 if there were too few.
base::Nanoseconds TurnPacer::measured() const {
  if (timed_ == 0) return base::Nanoseconds(0);
  return base::Nanoseconds(static_cast<base::Nanoseconds::rep>(
      static_cast<double>(time_.count()) / static_cast<double>(timed_) * static_cast<double>(slices_)));
}

// The whole launch is measured by its end if its slices gave no result, and the device has not been passed on since it
// began.
void TurnPacer::note_slices(const Call& call, const launch::LaunchResult& result, cl_event event) {
  const base::Nanoseconds measured = this->measured();
  const base::Nanoseconds since = use_->turn() == turn_ ? start_ : base::Nanoseconds(0);
  const bool by_end = measured.count() == 0 && since.count() != 0;
  p_.next.clFlush(call.queue);
  use_->enqueued({.queue = call.queue,
                  .event = event,
                  .expected = slice_ * static_cast<base::Nanoseconds::rep>(result.slices_of_last),
                  .key = by_end ? plan_.decision.key : 0,
                  .since = since,
                  .fineness = plan_.decision.fineness});
  // Only slices that were commands by themselves tell what so many cost.
  const bool tells = most_at_once_ <= 1 && time_ >= kTelling;
  p_.turns.costs().observe(plan_.decision.key, tells ? plan_.decision.fineness : 0, measured);
}

}  // namespace cleave::interpose
