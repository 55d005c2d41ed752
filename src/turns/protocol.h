// How participants take turns: the transitions of the shared state. Each function is one atomic step of one participant, over
// a sane state (state.h), and changes nothing else. What a step changes in an entry's `wakes` is whom it wakes.
//
//   - One participant holds the device. Giving it away names the next holder in the same step, so there is no race for it.
//   - The others that ask sleep until they are woken. One of them is the guard: it looks after the holder, which shows a
//     sign of life at every slice boundary. Whose signs are late is asked after (is it alive?), and a holder without one
//     for a whole lease loses its turn: it is stopped, or its kernel is too long.
//   - A guard that is dead or stopped is replaced by the holder, or by any other that asks, each of which looks once in a
//     lease.
//   - So a participant is woken for its turn, once to become the guard, and while it is the guard when the holder begins to
//     idle; and never depends on a process that does not run.
//
// A policy may let those that ask wait although nobody holds the device, for their caps. Each looks again by itself when it
// may have it, and at least once in a lease; also while somebody holds the device, who may give it back to nobody before.
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
  Ns check = 5'000'000;    // without a sign of life for so long, the guard asks whether the holder is alive
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

  // Nobody of those who have got the device has shown a sign of life for a while: all others that ask cease to, but for the holder,
  // whose lease ends. Those that live ask again when they look, within a lease.
  void pass_over_others(View state, Self self) const;

  // The holder is at a slice boundary, with nothing on the device any more: it goes on, or waits for its next turn.
  [[nodiscard]] Answer pass(View state, Self self, Ns now, const Liveness& liveness) const;

  // Whether pass() would do more than show a sign of life. May be asked of a copy that is out of date.
  [[nodiscard]] bool should_pass(View state, Self self, Ns now) const;

  // The holder has nothing to do. It keeps the device for `grace`, unless somebody should have it before.
  [[nodiscard]] Answer idle(View state, Self self, Ns grace, Ns now, const Liveness& liveness) const;

  // The participant's weight is another one from now on.
  void weigh(View state, Self self, std::uint32_t weight, Ns now) const;

  // The participant's cap is another one from now on. What it has had before is forgotten.
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
