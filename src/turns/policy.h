// Which participant is next, and for how long: what the protocol of turns (protocol.h) leaves open. An interface, so
// that the protocol can be checked for every choice that a policy could make.
//
// Implementations are thread-safe: pure functions over the given state, which must be sane (state.h). None allocates.
#pragma once

#include "turns/state.h"

namespace cleave::turns {

class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  // A new participant: nonce, weight and class are set, everything else is new.
  virtual void enter(View state, std::uint32_t slot) const = 0;

  // `slot` begins to request the device, or stops. Requires: it exists and is not requesting it yet, or is.
  virtual void ask(View state, std::uint32_t slot, Ns now) const = 0;
  virtual void rest(View state, std::uint32_t slot) const = 0;

  // `slot`, which requests the device, has had it for this time.
  virtual void charge(View state, std::uint32_t slot, Ns from, Ns until) const = 0;

  // Of what `slot`, the holder, was charged with until now, it has left the device idle for so long.
  virtual void credit(View state, std::uint32_t slot, Ns idle, Ns now) const = 0;

  // Weight or class of an existing participant change from now on. `weight` is limited to 1 to kMaxWeight.
  virtual void change(View state, std::uint32_t slot, std::uint32_t weight, Priority priority,
                      Ns now) const = 0;

  // Which requesting participant gets the device next; kNobody if none requests it, or none may have it now.
  [[nodiscard]] virtual std::uint32_t pick(View state, Ns now) const = 0;

  // Whether the holder, charged until now, should pass the device on at this slice boundary.
  [[nodiscard]] virtual bool should_yield(View state, Ns now) const = 0;

  // From when on `slot` may have the device if no other participant requests it: `now`, or later.
  [[nodiscard]] virtual Ns ready_at(const View& state, std::uint32_t slot, Ns now) const = 0;
};

}  // namespace cleave::turns
