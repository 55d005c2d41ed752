#include "turns/protocol.h"

#include <algorithm>
#include <cassert>

namespace cleave::turns {
namespace {

// A guard that checks by this time is not woken earlier.
constexpr Ns kSlack = 20'000;

// A participant that waits only for its cap checks no sooner.
constexpr Ns kSoonest = 50'000;

bool is_mine(const View& state, Self self) {
  return exists(state, self.slot) && state.participants[self.slot].nonce == self.nonce;
}

void wake(View state, std::uint32_t slot) { ++state.participants[slot].wakes; }

}  // namespace

void Protocol::charge_holder(View state, Ns until) const {
  Header& h = state.header;
  if (h.holder == kNobody || until <= h.charged_until) return;
  policy_.charge(state, h.holder, h.charged_until, until);
  h.charged_until = until;
}

// The holder no longer requests the device.
void Protocol::end_turn(View state, Ns now) const {
  charge_holder(state, now);
  policy_.rest(state, state.header.holder);
  state.header.holder = kNobody;
  state.header.idle_until = 0;
}

void Protocol::end_idle_turn(View state, Ns now) const {
  const Ns until = state.header.idle_until;
  if (state.header.holder != kNobody && until != 0 && until <= now) end_turn(state, until);
}

void Protocol::remove(View state, std::uint32_t slot) const {
  Header& h = state.header;
  if (h.holder == slot) {
    h.holder = kNobody;
    h.idle_until = 0;
  }
  if (h.guard == slot) h.guard = kNobody;
  if (exists(state, slot)) add_to_totals(state, state.participants[slot]);
  // The counter continues, so that the slot's next participant never waits for a value that was there before.
  state.participants[slot] = {.wakes = state.participants[slot].wakes + 1};
  ++h.members;
  while (h.slots > 0 && state.participants[h.slots - 1].nonce == 0) --h.slots;
}

// Takes the device from a holder that is dead, or that has not shown itself for a lease.
void Protocol::check_holder(View state, Self self, Ns now, const Liveness& liveness) const {
  Header& h = state.header;
  if (h.holder == kNobody || h.holder == self.slot) return;
  if (now - h.pulse >= timing_.check && !liveness.is_alive(h.holder)) return remove(state, h.holder);
  if (h.idle_until == 0 && now - h.pulse >= timing_.lease) end_turn(state, now);
}

// Requires: there is no holder.
void Protocol::grant(View state, Self self, Ns now, const Liveness& liveness) const {
  Header& h = state.header;
  std::uint32_t next = policy_.pick(state, now);
  while (next != kNobody && next != self.slot && !liveness.is_alive(next)) {
    remove(state, next);
    next = policy_.pick(state, now);
  }
  h.holder = next;
  h.turn_began = h.charged_until = h.pulse = now;
  h.idle_until = 0;
  if (next == kNobody) return;
  ++h.turn;
  Participant& p = state.participants[next];
  ++p.turns;
  if (p.waits_since != 0) {
    const Ns ready = policy_.ready_at(state, next, p.waits_since);
    p.capped += std::clamp<Ns>(ready - p.waits_since, 0, now - p.waits_since);
    note_wait(p, now - p.waits_since, now);
  }
  p.waits_since = 0;
  if (next != self.slot) wake(state, next);
  choose_guard(state, self, now, liveness);
}

bool Protocol::is_guarded(View state, Ns now) const {
  const Header& h = state.header;
  return h.guard != h.holder && asks(state, h.guard) && now - h.guard_until < timing_.check;
}

// The one whose request is oldest, if there is no guard, or one that has not checked when it should have.
void Protocol::choose_guard(View state, Self self, Ns now, const Liveness& liveness) const {
  Header& h = state.header;
  if (is_guarded(state, now)) return;
  const std::uint32_t before = h.guard;
  h.guard = kNobody;
  for (std::uint32_t slot = 0; slot < h.slots; ++slot) {
    if (slot == h.holder || slot == before || !asks(state, slot)) continue;
    if (slot != self.slot && !liveness.is_alive(slot)) {
      remove(state, slot);
    } else if (h.guard == kNobody ||
               state.participants[slot].asked_at < state.participants[h.guard].asked_at) {
      h.guard = slot;
    }
  }
  if (h.guard == kNobody || h.guard == self.slot) return;
  wake(state, h.guard);
  h.guard_until = now + timing_.check;
}

// A holder, if any participant requests the device, and a guard, if any waits.
void Protocol::appoint(View state, Self self, Ns now, const Liveness& liveness) const {
  if (state.header.holder == kNobody) {
    grant(state, self, now, liveness);
  } else {
    choose_guard(state, self, now, liveness);
  }
}

Answer Protocol::answer(View state, Self self, Ns now) const {
  Header& h = state.header;
  Participant& p = state.participants[self.slot];
  if (p.asks == 0) return {Standing::rests};
  if (h.holder == self.slot) return {Standing::holds};
  if (p.waits_since == 0) p.waits_since = now;
  const Ns ready = std::max(policy_.ready_at(state, self.slot, now), now + kSoonest);
  if (h.holder == kNobody)  // no holder to watch; all requests wait for their caps
    return {Standing::waits, p.wakes, std::min(ready, now + timing_.lease)};
  if (!is_guarded(state, now)) h.guard = self.slot;
  Ns look_at = now + timing_.lease;
  if (h.guard == self.slot) {
    const Ns check = h.pulse + timing_.check;
    look_at = check > now ? check : now + timing_.check;
    if (h.idle_until != 0) {
      look_at = std::min(look_at, h.idle_until);
    } else if (h.pulse + timing_.lease > now) {
      look_at = std::min(look_at, h.pulse + timing_.lease);
    }
    h.guard_until = look_at;
  }
  // When its cap allows it, the device may have no holder, so that no other participant wakes this one.
  if (policy_.ready_at(state, self.slot, now) > now) look_at = std::min(look_at, ready);
  return {Standing::waits, p.wakes, look_at};
}

void Protocol::join(View state, Self self, const Participant& newcomer, Ns now,
                    const Liveness& liveness) const {
  assert(self.slot < state.participants.size() && self.nonce != 0);
  Header& h = state.header;
  remove(state, self.slot);
  h.slots = std::max(h.slots, self.slot + 1);
  Participant& p = state.participants[self.slot];
  const std::uint32_t wakes = p.wakes;
  p = newcomer;
  p.nonce = self.nonce;
  p.wakes = wakes;
  policy_.enter(state, self.slot);
  appoint(state, self, now, liveness);
}

void Protocol::leave(View state, Self self, Ns now, const Liveness& liveness) const {
  if (!is_mine(state, self)) return;
  if (state.header.holder == self.slot) charge_holder(state, now);
  remove(state, self.slot);
  appoint(state, {}, now, liveness);
}

Answer Protocol::ask(View state, Self self, Ns now, const Liveness& liveness) const {
  if (!is_mine(state, self)) return {};
  Header& h = state.header;
  end_idle_turn(state, now);
  check_holder(state, self, now, liveness);
  charge_holder(state, now);
  if (state.participants[self.slot].asks == 0) policy_.ask(state, self.slot, now);
  if (h.holder == self.slot) {
    h.idle_until = 0;
    h.pulse = now;
  }
  if (h.holder == kNobody) grant(state, self, now, liveness);
  return answer(state, self, now);
}

void Protocol::pass_over_others(View state, Self self) const {
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    if (slot == self.slot || slot == state.header.holder || !asks(state, slot)) continue;
    policy_.rest(state, slot);
    state.participants[slot].waits_since = 0;
  }
}

Answer Protocol::pass(View state, Self self, Ns now, const Liveness& liveness) const {
  if (!is_mine(state, self) || state.header.holder != self.slot) return ask(state, self, now, liveness);
  Header& h = state.header;
  charge_holder(state, now);
  h.pulse = now;
  h.idle_until = 0;
  if (policy_.should_yield(state, now)) {
    h.holder = kNobody;
  }
  appoint(state, self, now, liveness);
  return answer(state, self, now);
}

bool Protocol::should_pass(View state, Self self, Ns now) const {
  if (!is_mine(state, self) || state.header.holder != self.slot) return true;
  charge_holder(state, now);
  if (policy_.should_yield(state, now)) return true;
  const auto is_waiting = [&](std::uint32_t slot) { return slot != self.slot && asks(state, slot); };
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    if (is_waiting(slot)) return !is_guarded(state, now);
  }
  return false;
}

Answer Protocol::idle(View state, Self self, Ns grace, Ns now, const Liveness& liveness) const {
  if (!is_mine(state, self)) return {};
  Header& h = state.header;
  if (h.holder != self.slot) {  // its turn was taken from it
    if (asks(state, self.slot)) {
      policy_.rest(state, self.slot);
      state.participants[self.slot].waits_since = 0;
    }
    return answer(state, self, now);
  }
  charge_holder(state, now);
  h.pulse = now;
  if (grace <= 0 || policy_.should_yield(state, now)) {
    end_turn(state, now);
    grant(state, self, now, liveness);
  } else {
    h.idle_until = now + grace;
    choose_guard(state, self, now, liveness);
    if (asks(state, h.guard) && h.guard_until > h.idle_until + kSlack) {
      wake(state, h.guard);
      h.guard_until = h.idle_until;
    }
  }
  return answer(state, self, now);
}

void Protocol::limit(View state, Self self, std::uint16_t cap, bool borrows, Ns now) const {
  if (!is_mine(state, self)) return;
  const Header& h = state.header;
  if (h.holder == self.slot) charge_holder(state, h.idle_until != 0 ? std::min(now, h.idle_until) : now);
  Participant& p = state.participants[self.slot];
  p.cap = std::min(cap, kWholeDevice);
  p.borrows = borrows ? 1 : 0;
  // What it still owes was counted by the old cap.
  p.throttled = 0;
  p.paid_at = std::min(p.paid_at, now);
}

void Protocol::weigh(View state, Self self, std::uint32_t weight, Ns now) const {
  if (!is_mine(state, self)) return;
  const Header& h = state.header;
  // What it has had so far counts by the weight that it had meanwhile.
  if (h.holder == self.slot) charge_holder(state, h.idle_until != 0 ? std::min(now, h.idle_until) : now);
  const auto priority = static_cast<Priority>(state.participants[self.slot].priority);
  policy_.change(state, self.slot, weight, priority, now);
}

void Protocol::credit(View state, Self self, Ns idle, Ns now) const {
  const Header& h = state.header;
  if (idle <= 0 || !is_mine(state, self) || h.holder != self.slot) return;
  charge_holder(state, now);
  policy_.credit(state, self.slot, std::min(idle, now - h.turn_began), now);
}

void Protocol::reap(View state, Self self, Ns now, const Liveness& liveness) const {
  for (std::uint32_t slot = state.header.slots; slot-- > 0;) {
    if (slot != self.slot && exists(state, slot) && !liveness.is_alive(slot)) remove(state, slot);
  }
  appoint(state, self, now, liveness);
}

}  // namespace cleave::turns
