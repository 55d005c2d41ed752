// The policy of turns: classes, and within a class weighted fair queueing over device time, as EEVDF does it for processors (Stoica
// and Abdel-Wahab, "Earliest Eligible Virtual Deadline First", 1995; Linux since 6.6).
//
//   - A class decides who is served first, not who starves. Shares of the device's time while all classes request it all the time:
//
//         high        0.90   the rest
//         normal      0.05   all but background's share if no higher class requests the device
//         background  0.05
//         idle        0      by choice: only what no other class requests
//
//     A class that is passed over accrues its least share of the time that others have. Once that is kLeastTurn, it goes before the
//     classes above it until it has had that much. If it takes more, by launches that cannot be cut, it owes the excess.
//   - A participant's virtual time is the device time it has had, divided by its weight. The virtual time of its class is the
//     mean over the participants that request the device, by weight. A participant that is not ahead of its class is eligible: it has
//     had no more than its share.
//   - Each request is for a stretch of device time. Its virtual deadline is the time at which the participant would have had the
//     stretch at its share. The eligible participant with the earliest deadline is next.
//   - The stretch is learnt: the device time that a participant usually uses before it becomes idle, at most a quantum. So one with
//     little to do has an early deadline, and is served at the next slice boundary, without being marked.
//   - An idle participant keeps its credit, and is credited with three times its share of the time while it is idle, up to one quantum.
//     (Three times, since a program that is busy only now and then would otherwise wait in the middle of its work for what it has not yet
//     earned; so such a program may get up to three times its share, but never more.) A debt is remembered in the same way.
//   - The processes of a tenant have one weight, which is divided among those that request the device.
//   - A cap is a leaky bucket (the generic cell rate algorithm, ITU-T I.371): device time that a tenant has had is a debt, paid off at
//     the rate of its cap. A tenant that owes kBurst waits until all is paid off, or, if it may borrow, until no participant that may have
//     the device requests it. So in any window it gets at most its cap of the window, a burst, and what it could have had earlier while
//     others had the device. The excess of a long kernel is paid off afterwards.
//   - Caps and reports are of the time in which the device was in use; shares are of the time for which it was held, since no other
//     participant could use it meanwhile.
//   - The holder keeps the device until it has had its stretch. Before that it passes it on only to a higher class, or
//     to a participant with an earlier deadline that has requested it since.
//
// Thread-safe: pure functions.
#pragma once

#include "turns/contenders.h"
#include "turns/policy.h"

namespace cleave::turns {

// A participant's copy of its own entry, in its own memory, as its latest step left it.
struct Remembered {
  Participant entry{};       // without a nonce: nothing
  std::uint32_t weight = 0;  // as of Contenders
  bool holds = false;
  Ns at = 0;               // the time of that step; for the holder, the time up to which it has been charged
  Ns idle_until = 0;       // for the holder
  bool shares = false;     // whether it has its limits in common with others
  std::uint64_t left = 0;  // how many others had left at that time
};

class Scheduler final : public Policy {
 public:
  static constexpr Ns kDefaultQuantum = 18'000'000;
  static constexpr Ns kMinRequest = 50'000;
  static constexpr Ns kMaxDebt = 1'000'000'000;  // device time; idle participants owe no more

  // Each class but the first and the last gets at least 1 / kLeastShare of the device, in turns of kLeastTurn.
  static constexpr Ns kLeastShare = 20;
  static constexpr Ns kLeastTurn = 1'000'000;

  // Device time that a tenant may have at a stretch beyond its cap, and the addition if it had to wait for others.
  static constexpr Ns kBurst = 8'000'000;
  static constexpr Ns kLate = 6'000'000;

  // Requires: quantum >= kMinRequest.
  explicit Scheduler(Ns quantum = kDefaultQuantum) : quantum_(quantum) {}

  void enter(View state, std::uint32_t slot) const override;
  void ask(View state, std::uint32_t slot, Ns now) const override;
  void rest(View state, std::uint32_t slot) const override;
  void charge(View state, std::uint32_t slot, Ns from, Ns until) const override;
  void credit(View state, std::uint32_t slot, Ns idle, Ns now) const override;
  void change(View state, std::uint32_t slot, std::uint32_t weight, Priority priority, Ns now) const override;
  [[nodiscard]] std::uint32_t pick(View state, Ns now) const override;
  [[nodiscard]] bool should_yield(View state, Ns now) const override;
  [[nodiscard]] Ns ready_at(const View& state, std::uint32_t slot, Ns now) const override;

  // restore() limits what a participant believes of its own entry in a file that others write. Only the participant changes its settings
  // and intents, so these are restored. Charges by others, which take the device from it, are limited to the time for which it can have
  // had the device since its latest step. While it is idle, everything else that others do not change is restored, too. So whatever was
  // written to its entry, it keeps a participant from a device no longer than the participant has had it.
  [[nodiscard]] Remembered remember(const View& state, std::uint32_t slot, Ns now) const;
  void restore(View state, std::uint32_t slot, const Remembered& known, Ns now) const;

  [[nodiscard]] Ns quantum() const { return quantum_; }

 private:
  [[nodiscard]] Ns request_of(const Participant& p) const;
  static void charge_class(View state, const Contenders& contenders, unsigned priority, Ns from, Ns until);
  void place(View state, std::uint32_t slot, std::int64_t lag, Ns now) const;
  void begin_stretch(View state, std::uint32_t slot) const;
  void confine_virtual_time(View state, std::uint32_t slot, const Remembered& known, Ns held_until,
                            Ns now) const;
  void forgive(View state, const Contenders& contenders, unsigned priority) const;

  const Ns quantum_;
};

}  // namespace cleave::turns
