#include "turns/contenders.h"

#include <algorithm>

namespace cleave::turns {
namespace {

// No participant is held back for less: a pause of microseconds, which a cap of nearly 100 % requires after each
// quantum, would cost the one with the larger weight its turn, and all would get the same.
constexpr Ns kLeastPause = 1'000'000;

// Device time at the rate of a cap, as time.
Ns time_to_pay(Ns used, std::uint16_t cap) {
  return std::min(std::clamp<Ns>(used, 0, kMaxSpread) * kWholeDevice / cap, kMaxSpread);
}

// From how much on one is held back, as time.
Ns most_owed(const Participant& p, Tolerance tolerance) {
  return std::max(time_to_pay(tolerance.burst, p.cap) - tolerance.burst, kLeastPause);
}

// Of a weight as users set it, which is at most kMaxWeight.
std::uint32_t part_of(std::uint32_t weight, std::uint32_t members) {
  return (weight * kWeightUnit + members / 2) / members;
}

}  // namespace

template <typename Among>
bool Contenders::choose(const View& state, Among among) {
  bool any = false;
  count_ = std::min<std::uint32_t>(state.header.slots, kMaxParticipants);
  for (std::uint32_t slot = 0; slot < count_; ++slot) {
    if (!asks(state, slot) || !among(state.participants[slot])) continue;
    weights_[slot] = weight_of(state, slot);
    any = true;
  }
  return any;
}

Contenders::Contenders(const View& state, Ns now, std::uint32_t also) {
  if (!choose(state, [now](const Participant& p) { return !is_throttled(p, now); }))
    choose(state, [](const Participant& p) { return p.borrows != 0; });
  if (asks(state, also) && !has(also)) weights_[also] = weight_of(state, also);
}

unsigned Contenders::first_class(const View& state, unsigned from) const {
  unsigned first = kPriorities;
  for (std::uint32_t slot = 0; slot < count_; ++slot) {
    const unsigned priority = state.participants[slot].priority;
    if (has(slot) && priority >= from) first = std::min(first, priority);
  }
  return first;
}

std::uint32_t weight_of(const View& state, std::uint32_t slot) {
  const Participant& mine = state.participants[slot];
  if (mine.tenant == 0) return part_of(mine.weight, 1);
  std::uint32_t members = 1;
  for (std::uint32_t other = 0; other < state.header.slots; ++other) {
    const Participant& p = state.participants[other];
    if (other != slot && share_limits(p, mine) && p.priority == mine.priority && asks(state, other))
      ++members;
  }
  return part_of(mine.weight, members);
}

bool others_want_it(const View& state, std::uint32_t slot, Ns now) {
  for (std::uint32_t other = 0; other < state.header.slots; ++other) {
    const Participant& p = state.participants[other];
    if (other != slot && asks(state, other) && !is_throttled(p, now) &&
        !share_limits(p, state.participants[slot]))
      return true;
  }
  return false;
}

void charge_caps(const View& state, std::uint32_t slot, Ns from, Ns until, Tolerance tolerance) {
  const Participant& user = state.participants[slot];
  const bool is_wanted = others_want_it(state, slot, until);
  for (std::uint32_t each = 0; each < state.header.slots; ++each) {
    Participant& p = state.participants[each];
    if (p.cap == 0 || !exists(state, each) || (each != slot && !share_limits(p, user))) continue;
    if (p.paid_at <= from) p.throttled = 0;
    // What is borrowed is not owed.
    if (p.borrows != 0 && !is_wanted) continue;
    p.paid_at =
        std::max(p.paid_at, from - time_to_pay(tolerance.late, p.cap)) + time_to_pay(until - from, p.cap);
    p.paid_at = std::min(p.paid_at, until + kLongestPause);
    if (p.paid_at - until >= most_owed(p, tolerance)) p.throttled = 1;
  }
}

bool has_company_in_tenant(const View& state, std::uint32_t slot) {
  for (std::uint32_t other = 0; other < state.header.slots; ++other) {
    if (other != slot && exists(state, other) &&
        share_limits(state.participants[other], state.participants[slot]))
      return true;
  }
  return false;
}

std::uint64_t left_of_tenant(const View& state, std::uint32_t slot) {
  const std::uint64_t tenant = state.participants[slot].tenant;
  if (tenant == 0) return 0;
  for (const TenantTotals& totals : state.totals.first(state.header.tenants)) {
    if (totals.tenant == tenant) return totals.processes;
  }
  return 0;
}

void confine_caps(const View& state, std::uint32_t slot, const Participant& then, Ns since, Ns until,
                  Tolerance tolerance) {
  Participant& p = state.participants[slot];
  if (p.cap == 0) return;
  if (until <= since) {
    p.paid_at = then.paid_at;
    p.throttled = then.throttled;
    return;
  }
  const Ns most =
      std::max(then.paid_at, since - time_to_pay(tolerance.late, p.cap)) + time_to_pay(until - since, p.cap);
  p.paid_at = std::min(p.paid_at, most);
}

void credit_caps(const View& state, std::uint32_t slot, Ns time, Ns now, Tolerance tolerance) {
  const Participant& user = state.participants[slot];
  for (std::uint32_t each = 0; each < state.header.slots; ++each) {
    Participant& p = state.participants[each];
    if (p.cap == 0 || !exists(state, each) || (each != slot && !share_limits(p, user))) continue;
    if (p.borrows != 0) continue;  // perhaps it was never charged
    const Ns earliest = std::min(p.paid_at, now - time_to_pay(tolerance.late, p.cap));
    p.paid_at = std::max(p.paid_at - time_to_pay(time, p.cap), earliest);
    if (p.paid_at - now < most_owed(p, tolerance)) p.throttled = 0;
  }
}

}  // namespace cleave::turns
