#include "interpose/turns/turn_log.h"

#include <algorithm>
#include <utility>

namespace cleave::interpose {

void TurnLog::answered(const Answer& answer) noexcept {
  const bool had = since_.load(kRelaxed) >= 0;
  if (had && answer.holds && !answer.waited) return;  // it goes on
  write(end_turn(answer.asked, answer.joined ? "others should have it" : "no turns any more"));
  const base::Nanoseconds waited = answer.now - answer.asked;
  const std::uint64_t launch = trace_ != nullptr ? Tracer::launch_in_progress() : 0;
  if (answer.waited) {
    waited_.fetch_add(waited.count(), kRelaxed);
    longest_wait_.store(std::max(longest_wait_.load(kRelaxed), waited.count()), kRelaxed);
    if (trace_ != nullptr) write(TurnSpan{TurnSpan::What::wait, answer.asked, answer.now, launch, {}});
  }
  if (!answer.holds) return;
  turns_.fetch_add(1, kRelaxed);
  launch_ = launch;
  since_.store(answer.now.count(), kRelaxed);
}

std::optional<TurnSpan> TurnLog::end_turn(base::Nanoseconds now, const char* why) noexcept {
  const base::Nanoseconds since(since_.exchange(-1, kRelaxed));
  if (since.count() < 0) return std::nullopt;
  held_.fetch_add((now - since).count(), kRelaxed);
  if (trace_ == nullptr) return std::nullopt;
  return TurnSpan{TurnSpan::What::hold, since, now, launch_, why};
}

void TurnLog::gave_away(base::Nanoseconds now, const char* why) noexcept {
  if (const auto span = end_turn(now, why)) ended_ = span;
}

std::optional<TurnSpan> TurnLog::take_span() noexcept { return std::exchange(ended_, std::nullopt); }

observe::TurnFigures TurnLog::figures(base::Nanoseconds now) const {
  observe::TurnFigures figures;
  figures.device = device_;
  figures.file = identity_;
  figures.launches = launches_.load(kRelaxed);
  figures.turns = turns_.load(kRelaxed);
  figures.stalls = stalls_.load(kRelaxed);
  figures.waited = waited();
  figures.longest_wait = base::Nanoseconds(longest_wait_.load(kRelaxed));
  figures.held = base::Nanoseconds(held_.load(kRelaxed));
  const base::Nanoseconds since(since_.load(kRelaxed));
  if (since.count() >= 0) figures.held += std::max(now - since, base::Nanoseconds(0));
  return figures;
}

void TurnLog::reset() noexcept {
  for (std::atomic<std::uint64_t>* const each : {&launches_, &turns_, &stalls_}) each->store(0, kRelaxed);
  for (std::atomic<std::int64_t>* const each : {&waited_, &longest_wait_, &held_}) each->store(0, kRelaxed);
  since_.store(-1, kRelaxed);
  launch_ = 0;
  ended_.reset();
}

}  // namespace cleave::interpose
