// How participants take turns: the transitions of the shared state. Each function is one atomic step of one participant, over
// a sane state (state.h), and changes nothing else. What a step changes in an entry's `wakes` is whom it wakes.
//
//   - One participant holds the device. Passing it on names the next holder in the same step, so there is no race for
//     it.
//   - The other requesting participants sleep until they are woken. One of them is the guard: it watches the holder,
//     which sends a heartbeat at every slice boundary. If the heartbeat is late, the guard checks whether the holder is
//     alive; a holder without a heartbeat for a whole lease loses its turn, because it is stopped or its kernel is too
//     long.
//   - A guard that is dead or stopped is replaced by the holder, or by any other requesting participant, each of which
//     checks once per lease.
//   - So a participant is woken for its turn, once to become the guard, and, while it is the guard, when the holder
//     becomes idle; and it never depends on a process that does not run.
//
// A policy may make participants wait for their caps although the device has no holder. Each checks again by itself
// when its cap allows it the device, and at least once per lease. It does so even while another one holds the device,
// since the holder may leave before then.
//
// A step may be interrupted for good (its process is killed) between the writing of the entries and that of the header; the
// tests check that too.
//
// Thread-safe: pure functions; the caller makes them atomic.
#pragma once

#include "turns/policy.h"
#include "turns/state.h"

namespace cleave::turns {

struct Timing {
  Ns check = 5'000'000;    // without a heartbeat for so long, the guard checks whether the holder is alive
  Ns lease = 100'000'000;  // without one for so long, the holder has lost its turn
};

// Which participant a step is made for.
struct Self {
  std::uint32_t slot = kNobody;
  std::uint64_t nonce = 0;  // not 0
};

// Tells whether the process of an existing entry lives.
class Liveness {
 public:
  Liveness() = default;
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;
  virtual ~Liveness() = default;
  [[nodiscard]] virtual bool is_alive(std::uint32_t slot) const = 0;
};

enum class Standing : std::uint8_t {
  holds,
  waits,
  rests,
  gone,  // the entry is not this participant's any more: it has to join again
};

struct Answer {
  Standing standing = Standing::gone;
  std::uint32_t wakes = 0;  // while it waits: the futex's value; when it changes, look()
  Ns look_at = 0;           // while it waits: when to look() at the latest
};

class Protocol {
 public:
  explicit Protocol(const Policy& policy, Timing timing = {}) : policy_(policy), timing_(timing) {}

  // Makes an entry in a slot that no living process uses.
  // Requires: self.slot is within the array; priority and weight are valid.
  void join(View state, Self self, const Participant& newcomer, Ns now, const Liveness& liveness) const;
  void leave(View state, Self self, Ns now, const Liveness& liveness) const;

  // The participant has something to do. Does not change the place of one that waits already.
  [[nodiscard]] Answer ask(View state, Self self, Ns now, const Liveness& liveness) const;

  // A participant that waits was woken, or its time has come.
  [[nodiscard]] Answer look(View state, Self self, Ns now, const Liveness& liveness) const {
    return ask(state, self, now, liveness);
  }

  // To be called when no holder has sent a heartbeat for a while. Drops all other requests except the holder's, whose
  // lease ends. Live participants request the device again when they check, within a lease.
  void pass_over_others(View state, Self self) const;

  // The holder is at a slice boundary, with nothing on the device any more: it goes on, or waits for its next turn.
  [[nodiscard]] Answer pass(View state, Self self, Ns now, const Liveness& liveness) const;

  // Whether pass() would do more than send a heartbeat. May be called with a copy that is out of date.
  [[nodiscard]] bool should_pass(View state, Self self, Ns now) const;

  // The holder has nothing to do. It keeps the device for `grace`, unless somebody should have it before.
  [[nodiscard]] Answer idle(View state, Self self, Ns grace, Ns now, const Liveness& liveness) const;

  // Changes the participant's weight.
  void weigh(View state, Self self, std::uint32_t weight, Ns now) const;

  // Changes the participant's cap. What it has had before is forgotten.
  void limit(View state, Self self, std::uint16_t cap, bool borrows, Ns now) const;

  // The holder has left the device idle for `idle` of its turn.
  void credit(View state, Self self, Ns idle, Ns now) const;

  // Removes the entries of dead processes.
  void reap(View state, Self self, Ns now, const Liveness& liveness) const;

 private:
  void charge_holder(View state, Ns until) const;
  void end_turn(View state, Ns now) const;
  void end_idle_turn(View state, Ns now) const;
  void check_holder(View state, Self self, Ns now, const Liveness& liveness) const;
  void remove(View state, std::uint32_t slot) const;
  void grant(View state, Self self, Ns now, const Liveness& liveness) const;
  [[nodiscard]] bool is_guarded(View state, Ns now) const;
  void choose_guard(View state, Self self, Ns now, const Liveness& liveness) const;
  void appoint(View state, Self self, Ns now, const Liveness& liveness) const;
  [[nodiscard]] Answer answer(View state, Self self, Ns now) const;

  const Policy& policy_;
  const Timing timing_;
};

}  // namespace cleave::turns
