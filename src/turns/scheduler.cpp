#include "turns/scheduler.h"

#include <algorithm>
#include <cassert>

namespace cleave::turns {
namespace {

// How much faster than by its share one that rests is owed device time.
constexpr std::int64_t kRestingRate = 3;

// What a newcomer is expected to use until it rests, as a part of a quantum: little, until it has used more.
constexpr Ns kNewcomers = 10;

// Device time at a weight, as virtual time.
std::int64_t virtual_of(Ns time, std::uint64_t weight) {
  // At most kMaxSpread * 100, which is below 2^49.
  return std::min(std::clamp<Ns>(time, 0, kMaxSpread) * kDefaultWeight / static_cast<std::int64_t>(weight),
                  kMaxSpread);
}

// Those of a class that ask: their weight, and their mean virtual time from the class's origin, rounded down, so that the
// earliest of them is never beyond it.
struct Load {
  std::int64_t weight = 0;
  std::int64_t mean = 0;
};

Load load_of(const View& state, unsigned priority) {
  std::int64_t weight = 0;
  std::int64_t sum = 0;
  for (const Participant& p : state.participants.first(state.header.slots)) {
    if (p.nonce == 0 || p.asks == 0 || p.priority != priority) continue;
    const std::int64_t ahead =
        std::clamp(distance(state.header.origin[priority], p.virtual_time), -kMaxSpread, kMaxSpread);
    weight += p.weight;
    sum += ahead * p.weight;
  }
  if (weight == 0) return {};
  return {weight, sum / weight - (sum % weight < 0 ? 1 : 0)};
}

// The class that is served.
unsigned first_class(const View& state) {
  unsigned first = kPriorities;
  for (const Participant& p : state.participants.first(state.header.slots)) {
    if (p.nonce != 0 && p.asks != 0) first = std::min<unsigned>(first, p.priority);
  }
  return first;
}

// Whether `a` goes before `b`, both eligible.
bool is_before(const Participant& a, const Participant& b, std::uint64_t origin) {
  const std::int64_t first = distance(origin, a.deadline);
  const std::int64_t second = distance(origin, b.deadline);
  return first != second ? first < second : a.asked_at < b.asked_at;
}

}  // namespace

Ns Scheduler::request_of(const Participant& p) const { return std::clamp(p.request, kMinRequest, quantum_); }

void Scheduler::place(View state, std::uint32_t slot, std::int64_t lag) const {
  Participant& p = state.participants[slot];
  const Load load = load_of(state, p.priority);
  // The mean moves towards whom it then includes, so that the distance from the others has to be larger.
  if (load.weight > 0) lag += lag * p.weight / load.weight;
  lag = std::clamp(lag, -kMaxSpread, kMaxSpread);
  p.virtual_time = state.header.origin[p.priority] + static_cast<std::uint64_t>(load.mean - lag);
  p.deadline = p.virtual_time + static_cast<std::uint64_t>(virtual_of(request_of(p), p.weight));
}

void Scheduler::enter(View state, std::uint32_t slot) const {
  Participant& p = state.participants[slot];
  p.asks = 0;
  p.lag = 0;
  p.rested_at = state.header.fair_clock;
  p.request = quantum_ / kNewcomers;
}

void Scheduler::ask(View state, std::uint32_t slot, Ns now) const {
  Participant& p = state.participants[slot];
  assert(p.asks == 0);
  std::int64_t owed = p.lag;
  if (const Load load = load_of(state, p.priority); load.weight > 0) {
    const auto passed =
        std::clamp<std::int64_t>(distance(p.rested_at, state.header.fair_clock), 0, kMaxSpread);
    owed += kRestingRate * passed / (load.weight + p.weight) * load.weight;
  } else {
    owed = std::max<std::int64_t>(owed, 0);  // nobody whom it could have taken the time from
  }
  place(state, slot, std::min(owed, virtual_of(quantum_, p.weight)));
  p.asks = 1;
  p.asked_at = now;
  p.stretch = 0;
}

void Scheduler::rest(View state, std::uint32_t slot) const {
  Participant& p = state.participants[slot];
  assert(p.asks != 0);
  const std::uint64_t origin = state.header.origin[p.priority];
  const std::int64_t lag = load_of(state, p.priority).mean - distance(origin, p.virtual_time);
  p.lag = std::clamp(lag, -virtual_of(kMaxDebt, p.weight), virtual_of(quantum_, p.weight));
  p.rested_at = state.header.fair_clock;
  p.asks = 0;
  // A quarter more than it used, so that it has had its deadline's worth only when it is done.
  if (p.stretch > 0) {
    p.request =
        std::clamp((p.request + 3 * std::min(p.stretch, quantum_) * 5 / 4) / 4, kMinRequest, quantum_);
  }
}

void Scheduler::charge(View state, std::uint32_t slot, Ns time) const {
  Participant& p = state.participants[slot];
  time = std::clamp<Ns>(time, 0, kMaxSpread);
  const Load load = load_of(state, p.priority);
  p.virtual_time += static_cast<std::uint64_t>(virtual_of(time, p.weight));
  p.used += static_cast<std::uint64_t>(time);
  p.stretch = std::min(p.stretch + time, kMaxSpread);
  p.request = std::max(p.request, std::min(p.stretch, quantum_));
  if (load.weight > 0) {
    state.header.fair_clock +=
        static_cast<std::uint64_t>(virtual_of(time, static_cast<std::uint64_t>(load.weight)));
  }
  state.header.origin[p.priority] += static_cast<std::uint64_t>(load_of(state, p.priority).mean);
}

std::uint32_t Scheduler::pick(View state) const {
  const unsigned served = first_class(state);
  if (served == kPriorities) return kNobody;
  const std::uint64_t origin = state.header.origin[served];
  const std::int64_t mean = load_of(state, served).mean;
  std::uint32_t best = kNobody;
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    Participant& p = state.participants[slot];
    if (!asks(state, slot) || p.priority != served) continue;
    // What it asked for is used up: its next stretch begins.
    if (distance(p.deadline, p.virtual_time) >= 0) {
      p.deadline = p.virtual_time + static_cast<std::uint64_t>(virtual_of(request_of(p), p.weight));
    }
    if (distance(origin, p.virtual_time) > mean) continue;
    if (best == kNobody || is_before(p, state.participants[best], origin)) best = slot;
  }
  assert(best != kNobody);
  return best;
}

bool Scheduler::should_yield(View state) const {
  const std::uint32_t holder = state.header.holder;
  if (!asks(state, holder)) return false;
  const Participant& mine = state.participants[holder];
  if (first_class(state) < mine.priority) return true;
  if (distance(mine.deadline, mine.virtual_time) >= 0) return pick(state) != holder;
  const std::uint64_t origin = state.header.origin[mine.priority];
  const std::int64_t mean = load_of(state, mine.priority).mean;
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    const Participant& p = state.participants[slot];
    if (slot == holder || !asks(state, slot) || p.priority != mine.priority) continue;
    // One with little to do may have become eligible since.
    const bool counts = p.asked_at >= state.header.turn_began || 2 * request_of(p) <= request_of(mine);
    if (counts && distance(origin, p.virtual_time) <= mean && is_before(p, mine, origin)) return true;
  }
  return false;
}

void Scheduler::change(View state, std::uint32_t slot, std::uint32_t weight, Priority priority,
                       Ns now) const {
  Participant& p = state.participants[slot];
  const bool asked = p.asks != 0;
  const Ns since = p.asked_at;
  const bool same_class = p.priority == static_cast<std::uint8_t>(priority);
  const std::int64_t owed = [&] {
    if (!same_class) return std::int64_t{0};
    return asked ? load_of(state, p.priority).mean - distance(state.header.origin[p.priority], p.virtual_time)
                 : p.lag;
  }();
  // What it is owed is device time, which is another virtual time at another weight.
  const std::uint32_t before = std::max(p.weight, 1U);
  p.weight = std::clamp(weight, 1U, kMaxWeight);
  p.priority = static_cast<std::uint8_t>(priority);
  const std::int64_t lag = std::clamp(owed, -kMaxSpread, kMaxSpread) * before / p.weight;
  p.lag = std::clamp(lag, -virtual_of(kMaxDebt, p.weight), virtual_of(quantum_, p.weight));
  if (!asked) return;
  p.asks = 0;
  place(state, slot, p.lag);
  p.asks = 1;
  p.asked_at = std::min(since, now);
}

}  // namespace cleave::turns
