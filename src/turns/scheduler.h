// The policy of turns: classes, and within a class weighted fair queueing over device time, as EEVDF does it for processors (Stoica
// and Abdel-Wahab, "Earliest Eligible Virtual Deadline First", 1995; Linux since 6.6).
//
//   - A class says who is served first, not who starves. Of the device's time, while all of these ask all the time:
//
//         high        0.90   what the others leave
//         normal      0.05   and all but background's share where nobody of a higher class asks
//         background  0.05
//         idle        0      by its own wish: what nobody else asks for
//
//     A class that is passed over is owed its least share of the time that others have. Once that is kLeastTurn it goes before the classes
//     above it, until it has had it. What it takes beyond, by launches that cannot be cut, it owes.
//   - A participant's virtual time is the device time it has had, divided by its weight. The class's virtual time is the
//     mean of those that ask, by weight. Who is not ahead of it is eligible: it has had no more than its share.
//   - Each asks for a stretch of device time, and its virtual deadline is when it would have had that at its share. Of the
//     eligible ones, the earliest deadline is next.
//   - The stretch is learnt: what a participant usually uses until it rests, at most a quantum. So one with little to do
//     has an early deadline, and is served at the next slice boundary, without anybody having marked it.
//   - Who rests keeps what it is owed, and is owed its share of the time while it rests, three times, up to one quantum. (So much,
//     since a program that is busy only now and then would otherwise wait in the middle of its work for what it has not yet earned; so
//     one that rests at times may get up to three times its share, but never more.) A debt is remembered in the same way.
//   - The processes of a tenant have its weight together: each that asks has its part of it.
//   - A cap is a leaky bucket (the generic cell rate algorithm, ITU-T I.371): what a tenant has had is paid off at the rate of its cap.
//     Who owes for kBurst waits until all is paid off, or, if it may borrow, until nobody else asks who may have the device. So in no
//     window it gets more than its cap of it, a burst, and what it could have had before while others had the device; and what a long
//     kernel takes beyond that is paid off afterwards.
//   - Caps and reports are of the time in which the device was in use, shares of that in which it was held: nobody else could use it
//     meanwhile.
//   - The holder goes on until it has had its stretch; before that it gives the device away only to another class that goes before its
//     own, or to somebody who has begun to ask since and has an earlier deadline.
//
// Thread-safe: pure functions.
#pragma once

#include "turns/contenders.h"
#include "turns/policy.h"

namespace cleave::turns {

// What a participant keeps of its own entry in its own memory, as of the end of its latest step.
struct Remembered {
  Participant entry{};       // without a nonce: nothing
  std::uint32_t weight = 0;  // as of Contenders
  bool holds = false;
  Ns at = 0;               // when the step was; of the holder: up to when it has been charged
  Ns idle_until = 0;       // of the holder
  bool shares = false;     // its limits, with others
  std::uint64_t left = 0;  // how many others did
};

class Scheduler final : public Policy {
 public:
  static constexpr Ns kDefaultQuantum = 18'000'000;
  static constexpr Ns kMinRequest = 50'000;
  static constexpr Ns kMaxDebt = 1'000'000'000;  // device time; what is beyond is forgiven to those who rest

  // Each class but the first and the last has a kLeastShare-th of the device at least, in turns of so long.
  static constexpr Ns kLeastShare = 20;
  static constexpr Ns kLeastTurn = 1'000'000;

  // Beyond its cap a tenant may have so much device time at a stretch, and so much more if it had to wait for others.
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

  // What a participant may believe of its own entry in a file that others write. It alone changes its settings and intents: these are
  // put back. What others charge it with, when they take the device from it, is limited to the time that it can have had the device
  // since its latest step; and what nobody else changes while it rests is put back, too. So no entry, whatever was written there,
  // keeps a participant from a device longer than what it has had of it.
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
