#include "turns/state.h"

#include <algorithm>
#include <limits>

namespace cleave::turns {
namespace {

// No guard and no idle holder makes others wait longer than that, whatever the file says.
constexpr Ns kLongestPromise = 1'000'000'000;

std::uint64_t near(std::uint64_t origin, std::uint64_t time) {
  return origin + static_cast<std::uint64_t>(std::clamp(distance(origin, time), -kMaxSpread, kMaxSpread));
}

void sanitize(Participant& p, const Header& header, Ns now) {
  if (p.priority >= kPriorities) p.priority = static_cast<std::uint8_t>(Priority::normal);
  p.asks = p.asks != 0 ? 1 : 0;
  p.weight = std::clamp(p.weight, 1U, kMaxWeight);
  const std::uint64_t origin = header.origin[p.priority];
  p.virtual_time = near(origin, p.virtual_time);
  p.deadline = near(origin, p.deadline);
  p.lag = std::clamp(p.lag, -kMaxSpread, kMaxSpread);
  p.rested_at = near(header.fair_clock, p.rested_at);
  p.request = std::clamp<Ns>(p.request, 0, kMaxSpread);
  p.stretch = std::clamp<Ns>(p.stretch, 0, kMaxSpread);
  p.asked_at = std::clamp<Ns>(p.asked_at, 0, now);
  p.waits_since = std::clamp<Ns>(p.waits_since, 0, now);
  p.waited = std::clamp<Ns>(p.waited, 0, std::numeric_limits<Ns>::max() / 2);
}

}  // namespace

void sanitize(View state, Ns now) {
  Header& h = state.header;
  const auto size = static_cast<std::uint32_t>(state.participants.size());
  h.slots = std::min(h.slots, size);
  for (Participant& p : state.participants.first(h.slots)) sanitize(p, h, now);
  for (Participant& p : state.participants.subspan(h.slots)) p = {};
  if (!asks(state, h.holder)) h.holder = kNobody;
  if (!asks(state, h.guard) || h.guard == h.holder) h.guard = kNobody;
  // Another time namespace may be ahead of this one.
  for (Ns* const past : {&h.turn_began, &h.charged_until, &h.pulse}) *past = std::clamp<Ns>(*past, 0, now);
  h.charged_until = std::max(h.charged_until, h.turn_began);
  h.guard_until = std::clamp<Ns>(h.guard_until, 0, now + kLongestPromise);
  h.idle_until = std::clamp<Ns>(h.idle_until, 0, now + kLongestPromise);
}

}  // namespace cleave::turns
