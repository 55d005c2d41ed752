#include "turns/scheduler.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "turns/contenders.h"

namespace cleave::turns {
namespace {

// How much faster than by its share an idle participant is credited with device time.
constexpr std::int64_t kRestingRate = 3;

// What a newcomer is expected to use until it becomes idle, as a part of a quantum: little, until it has used more.
constexpr Ns kNewcomers = 10;

// Sums and products of distances and weights, of up to 2^75.
__extension__ using Wide = __int128;

std::int64_t scaled(std::int64_t value, std::int64_t factor, std::int64_t divisor) {
  return static_cast<std::int64_t>(std::clamp<Wide>(Wide{value} * factor / divisor, -kMaxSpread, kMaxSpread));
}

// Device time at a weight (of those of Contenders), as virtual time.
std::int64_t virtual_of(Ns time, std::int64_t weight) {
  return scaled(std::clamp<Ns>(time, 0, kMaxSpread), std::int64_t{kDefaultWeight} * kWeightUnit, weight);
}

// Those of a class that may have the device: their weight, and their mean virtual time from the class's origin, rounded down, so
// that the earliest of them is never beyond it.
struct Load {
  std::int64_t weight = 0;
  std::int64_t mean = 0;
};

template <typename Without>
Load load_of(const View& state, const Contenders& contenders, unsigned priority, Without without) {
  std::int64_t weight = 0;
  Wide sum = 0;
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    const Participant& p = state.participants[slot];
    if (p.priority != priority || !contenders.has(slot) || without(slot)) continue;
    const std::int64_t ahead =
        std::clamp(distance(state.header.origin[priority], p.virtual_time), -kMaxSpread, kMaxSpread);
    weight += contenders.weight(slot);
    sum += Wide{ahead} * contenders.weight(slot);
  }
  if (weight == 0) return {};
  return {weight, static_cast<std::int64_t>(sum / weight - (sum % weight < 0 ? 1 : 0))};
}

Load load_of(const View& state, const Contenders& contenders, unsigned priority) {
  return load_of(state, contenders, priority, [](std::uint32_t) { return false; });
}

bool has_least_share(unsigned priority) {
  return priority != static_cast<unsigned>(Priority::high) &&
         priority != static_cast<unsigned>(Priority::idle);
}

// The first class with a request, unless another one is owed a turn; kPriorities if there is none.
unsigned class_to_serve(const View& state, const Contenders& contenders) {
  const unsigned first = contenders.first_class(state);
  for (unsigned next = first; next < kPriorities; next = contenders.first_class(state, next + 1)) {
    if (next != first && has_least_share(next) && state.header.owed[next] >= Scheduler::kLeastTurn)
      return next;
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

void Scheduler::place(View state, std::uint32_t slot, std::int64_t lag, Ns now) const {
  Participant& p = state.participants[slot];
  const std::int64_t weight = weight_of(state, slot);
  const Load load = load_of(state, Contenders(state, now), p.priority);
  // The mean moves towards whom it then includes, so that the distance from the others has to be larger.
  if (load.weight > 0) lag += scaled(lag, weight, load.weight);
  lag = std::clamp(lag, -kMaxSpread, kMaxSpread);
  p.virtual_time = state.header.origin[p.priority] + static_cast<std::uint64_t>(load.mean - lag);
  begin_stretch(state, slot);
}

void Scheduler::begin_stretch(View state, std::uint32_t slot) const {
  Participant& p = state.participants[slot];
  p.deadline = p.virtual_time + static_cast<std::uint64_t>(virtual_of(request_of(p), weight_of(state, slot)));
}

void Scheduler::enter(View state, std::uint32_t slot) const {
  Participant& p = state.participants[slot];
  p.asks = 0;
  p.lag = 0;
  p.rested_at = state.header.fair_clock;
  p.request = quantum_ / kNewcomers;
  p.paid_at = 0;
  p.throttled = 0;
  // A new process does not lower what its tenant owes.
  for (std::uint32_t other = 0; other < state.header.slots; ++other) {
    const Participant& member = state.participants[other];
    if (other == slot || !exists(state, other) || !share_limits(member, p)) continue;
    p.paid_at = std::max(p.paid_at, member.paid_at);
    p.throttled = std::max(p.throttled, member.throttled);
  }
}

void Scheduler::ask(View state, std::uint32_t slot, Ns now) const {
  Participant& p = state.participants[slot];
  assert(p.asks == 0);
  const std::int64_t weight = weight_of(state, slot);
  std::int64_t owed = p.lag;
  if (const Load load = load_of(state, Contenders(state, now), p.priority); load.weight > 0) {
    const auto passed =
        std::clamp<std::int64_t>(distance(p.rested_at, state.header.fair_clock), 0, kMaxSpread);
    owed += kRestingRate * scaled(passed, load.weight, load.weight + weight);
  } else {
    owed = std::max<std::int64_t>(owed, 0);  // there was no other to take the time from
  }
  place(state, slot, std::min(owed, virtual_of(quantum_, weight)), now);
  p.asks = 1;
  p.asked_at = now;
  p.stretch = 0;
  p.paid_at = std::max(p.paid_at, now);  // pauses save nothing up
}

void Scheduler::rest(View state, std::uint32_t slot) const {
  Participant& p = state.participants[slot];
  assert(p.asks != 0);
  const std::uint64_t origin = state.header.origin[p.priority];
  const Contenders contenders(state, state.header.charged_until, slot);
  const std::int64_t lag = load_of(state, contenders, p.priority).mean - distance(origin, p.virtual_time);
  const std::uint32_t weight = contenders.weight(slot);
  p.lag = std::clamp(lag, -virtual_of(kMaxDebt, weight), virtual_of(quantum_, weight));
  p.rested_at = state.header.fair_clock;
  p.asks = 0;
  // A quarter more than it used, so that it has had its deadline's worth only when it is done.
  if (p.stretch > 0) {
    p.request =
        std::clamp((p.request + 3 * std::min(p.stretch, quantum_) * 5 / 4) / 4, kMinRequest, quantum_);
  }
}

void Scheduler::charge(View state, std::uint32_t slot, Ns from, Ns until) const {
  Participant& p = state.participants[slot];
  const Ns time = std::clamp<Ns>(until - from, 0, kMaxSpread);
  const Contenders contenders(state, from, slot);
  const Load load = load_of(state, contenders, p.priority);
  p.virtual_time += static_cast<std::uint64_t>(virtual_of(time, contenders.weight(slot)));
  const Ns idle = std::min<Ns>(p.idle, time);
  p.idle -= static_cast<std::uint32_t>(idle);
  p.used += static_cast<std::uint64_t>(time - idle);
  p.stretch = std::min(p.stretch + time, kMaxSpread);
  p.request = std::max(p.request, std::min(p.stretch, quantum_));
  if (load.weight > 0) {
    state.header.fair_clock += static_cast<std::uint64_t>(virtual_of(time, load.weight));
  }
  state.header.origin[p.priority] += static_cast<std::uint64_t>(load_of(state, contenders, p.priority).mean);
  charge_class(state, contenders, p.priority, until - time, until);
  charge_caps(state, slot, until - time, until, {kBurst, kLate});
}

// A class owes for what it has had while a higher one had requests. Any time on the device pays what it is owed.
void Scheduler::charge_class(View state, const Contenders& contenders, unsigned priority, Ns from, Ns until) {
  std::array<Ns, kPriorities>& owed = state.header.owed;
  Ns outranked_since = until;
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    const Participant& p = state.participants[slot];
    if (contenders.has(slot) && p.priority < priority)
      outranked_since = std::min(outranked_since, std::max(p.asked_at, p.cap != 0 ? p.paid_at : 0));
  }
  const Ns before = std::clamp<Ns>(outranked_since - from, 0, until - from);
  const Ns outranked = until - from - before;
  owed[priority] = std::max(std::min<Ns>(owed[priority], 0), owed[priority] - before);
  owed[priority] = std::max(owed[priority] - outranked + outranked / kLeastShare, -kMostOwing);
  for (unsigned other = contenders.first_class(state); other < kPriorities;
       other = contenders.first_class(state, other + 1)) {
    if (other != priority && has_least_share(other))
      owed[other] = std::min(owed[other] + (until - from) / kLeastShare, kMostOwed);
  }
}

void Scheduler::credit(View state, std::uint32_t slot, Ns idle, Ns now) const {
  Participant& p = state.participants[slot];
  // The totals that others have read never fall.
  p.idle = static_cast<std::uint32_t>(std::clamp<Ns>(p.idle + std::max<Ns>(idle, 0), 0, UINT32_MAX));
  credit_caps(state, slot, idle, now, {kBurst, kLate});
}

// A participant that was held back by its cap has fallen behind, and could keep the device from others for as long. It
// is owed no more than one that was idle. The processes of a tenant are moved together, so that they stay even among
// themselves.
void Scheduler::forgive(View state, const Contenders& contenders, unsigned priority) const {
  const std::uint64_t origin = state.header.origin[priority];
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    const Participant& first = state.participants[slot];
    if (first.cap == 0 || first.priority != priority || !contenders.has(slot)) continue;
    const auto is_of_group = [&](std::uint32_t other) {
      const Participant& p = state.participants[other];
      return other == slot || (p.priority == priority && contenders.has(other) && share_limits(p, first));
    };
    std::int64_t foremost = -kMaxSpread;
    for (std::uint32_t other = 0; other < state.header.slots; ++other) {
      if (is_of_group(other))
        foremost = std::max(foremost, distance(origin, state.participants[other].virtual_time));
    }
    const Load others = load_of(state, contenders, priority, is_of_group);
    // Others' turns alone put it behind by a quantum at their weights, which is no debt if these are smaller.
    std::uint32_t lightest = contenders.weight(slot);
    for (std::uint32_t other = 0; other < state.header.slots; ++other) {
      if (contenders.has(other) && state.participants[other].priority == priority)
        lightest = std::min(lightest, contenders.weight(other));
    }
    const std::int64_t lift = others.mean - virtual_of(quantum_, lightest) - foremost;
    if (others.weight == 0 || lift <= 0) continue;
    for (std::uint32_t other = 0; other < state.header.slots; ++other) {
      if (!is_of_group(other)) continue;
      state.participants[other].virtual_time += static_cast<std::uint64_t>(lift);
      state.participants[other].deadline += static_cast<std::uint64_t>(lift);
    }
  }
}

std::uint32_t Scheduler::pick(View state, Ns now) const {
  const Contenders contenders(state, now);
  const unsigned served = class_to_serve(state, contenders);
  if (served == kPriorities) return kNobody;
  forgive(state, contenders, served);
  const std::uint64_t origin = state.header.origin[served];
  const std::int64_t mean = load_of(state, contenders, served).mean;
  std::uint32_t best = kNobody;
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    Participant& p = state.participants[slot];
    if (!contenders.has(slot) || p.priority != served) continue;
    // What it requested is used up: its next stretch begins.
    if (distance(p.deadline, p.virtual_time) >= 0) begin_stretch(state, slot);
    if (distance(origin, p.virtual_time) > mean) continue;
    if (best == kNobody || is_before(p, state.participants[best], origin)) best = slot;
  }
  assert(best != kNobody);
  return best;
}

bool Scheduler::should_yield(View state, Ns now) const {
  const std::uint32_t holder = state.header.holder;
  if (!asks(state, holder)) return false;
  const Participant& mine = state.participants[holder];
  if (is_throttled(mine, now) && (mine.borrows == 0 || others_want_it(state, holder, now))) return true;
  const Contenders contenders(state, now, holder);
  const unsigned served = class_to_serve(state, contenders);
  const bool has_credit = has_least_share(mine.priority) && state.header.owed[mine.priority] > 0;
  if (served > mine.priority || (served < mine.priority && !has_credit)) return true;
  if (distance(mine.deadline, mine.virtual_time) >= 0) return pick(state, now) != holder;
  const std::uint64_t origin = state.header.origin[mine.priority];
  const std::int64_t mean = load_of(state, contenders, mine.priority).mean;
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    const Participant& p = state.participants[slot];
    if (slot == holder || !contenders.has(slot) || p.priority != mine.priority) continue;
    // One with little to do may have become eligible since, and one that its cap has held back.
    const Ns since = p.cap != 0 ? std::max(p.asked_at, p.paid_at) : p.asked_at;
    const bool counts = since >= state.header.turn_began || 2 * request_of(p) <= request_of(mine);
    if (counts && distance(origin, p.virtual_time) <= mean && is_before(p, mine, origin)) return true;
  }
  return false;
}

Ns Scheduler::ready_at(const View& state, std::uint32_t slot, Ns now) const {
  const Participant& p = state.participants[slot];
  return is_throttled(p, now) ? p.paid_at : now;
}

void Scheduler::change(View state, std::uint32_t slot, std::uint32_t weight, Priority priority,
                       Ns now) const {
  Participant& p = state.participants[slot];
  const bool asked = p.asks != 0;
  const Ns since = p.asked_at;
  const bool same_class = p.priority == static_cast<std::uint8_t>(priority);
  const std::int64_t owed = [&] {
    if (!same_class) return std::int64_t{0};
    if (!asked) return p.lag;
    const Load load = load_of(state, Contenders(state, now, slot), p.priority);
    return load.mean - distance(state.header.origin[p.priority], p.virtual_time);
  }();
  // What it is owed is device time, which is another virtual time at another weight.
  const std::uint32_t before = weight_of(state, slot);
  p.weight = std::clamp(weight, 1U, kMaxWeight);
  p.priority = static_cast<std::uint8_t>(priority);
  const std::uint32_t after = weight_of(state, slot);
  const std::int64_t lag = scaled(owed, before, after);
  p.lag = std::clamp(lag, -virtual_of(kMaxDebt, after), virtual_of(quantum_, after));
  if (!asked) return;
  // Its stretch goes on: otherwise one that changed its weight again and again would never come to the end of one.
  const std::int64_t left = scaled(distance(p.virtual_time, p.deadline), before, after);
  p.asks = 0;
  place(state, slot, p.lag, now);
  p.deadline = p.virtual_time + static_cast<std::uint64_t>(left);
  p.asks = 1;
  p.asked_at = std::min(since, now);
}

Remembered Scheduler::remember(const View& state, std::uint32_t slot, Ns now) const {
  const Header& h = state.header;
  const bool holds = h.holder == slot;
  return {state.participants[slot],      weight_of(state, slot),   holds,
          holds ? h.charged_until : now, holds ? h.idle_until : 0, has_company_in_tenant(state, slot),
          left_of_tenant(state, slot)};
}

void Scheduler::restore(View state, std::uint32_t slot, const Remembered& known, Ns now) const {
  Header& h = state.header;
  Participant& p = state.participants[slot];
  const Participant& then = known.entry;
  if (then.nonce == 0 || p.nonce != then.nonce) return;
  p.tenant = then.tenant;
  p.tenant_name = then.tenant_name;
  p.weight = then.weight;
  p.priority = then.priority;
  p.cap = then.cap;
  p.borrows = then.borrows;
  p.pid = then.pid;
  p.declares = then.declares;
  if (then.asks == 0) {
    p.asks = 0;
    p.lag = then.lag;
    p.rested_at = then.rested_at;
    p.request = then.request;
    if (h.holder == slot) h.holder = kNobody;
    if (h.guard == slot) h.guard = kNobody;
  }
  if (h.holder == slot) {
    h.charged_until = std::max(h.charged_until, known.at);
    h.idle_until = known.idle_until;
  }
  const Ns held_until = known.idle_until != 0 ? std::min(known.idle_until, now) : now;
  // The processes of a tenant pay for each other, also for one that has come and gone meanwhile.
  const bool shares =
      known.shares || has_company_in_tenant(state, slot) || left_of_tenant(state, slot) != known.left;
  confine_caps(state, slot, then, known.at, shares ? now : known.holds ? held_until : 0, {kBurst, kLate});
  confine_virtual_time(state, slot, known, held_until, now);
}

// While it waits it may have got the device, and lost it with its lease, without having noticed.
void Scheduler::confine_virtual_time(View state, std::uint32_t slot, const Remembered& known, Ns held_until,
                                     Ns now) const {
  Participant& p = state.participants[slot];
  const Participant& then = known.entry;
  const std::uint64_t origin = state.header.origin[p.priority];
  const std::uint32_t weight = std::min(weight_of(state, slot), known.weight);
  p.lag = std::clamp(p.lag, -virtual_of(kMaxDebt, weight), virtual_of(quantum_, weight));
  std::int64_t most = virtual_of(held_until - known.at, weight);
  if (p.cap != 0 || p.tenant != 0) {  // forgive()
    const Load load = load_of(state, Contenders(state, now, slot), p.priority);
    most = std::max(most, distance(then.virtual_time, origin + static_cast<std::uint64_t>(load.mean)));
  }
  const std::int64_t passed = std::clamp<std::int64_t>(distance(then.virtual_time, p.virtual_time), 0, most);
  const std::uint64_t time = then.virtual_time + static_cast<std::uint64_t>(passed);
  p.virtual_time =
      origin + static_cast<std::uint64_t>(std::clamp(distance(origin, time), -kMaxSpread, kMaxSpread));
  if (distance(p.virtual_time, p.deadline) > virtual_of(quantum_, weight)) begin_stretch(state, slot);
}

}  // namespace cleave::turns
