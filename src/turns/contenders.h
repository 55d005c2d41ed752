// Which of the requesting participants may have the device now, and with which weight: caps and tenants, as the
// scheduler sees them.
//
// Thread-safe: pure functions over the caller's memory. None allocates or throws.
#pragma once

#include <array>
#include <cstdint>

#include "turns/state.h"

namespace cleave::turns {

// Its cap does not allow it to have the device before it has paid off what it has had.
[[nodiscard]] inline bool is_throttled(const Participant& p, Ns now) {
  return p.throttled != 0 && p.cap != 0 && p.paid_at > now;
}

// Whether the two have one weight and one cap together.
[[nodiscard]] inline bool share_limits(const Participant& a, const Participant& b) {
  return a.tenant != 0 && a.tenant == b.tenant;
}

// Weights here are in units of a part of those that users set, so that a tenant's may be divided among its processes.
inline constexpr std::uint32_t kWeightUnit = 1024;

// A set of requesting participants with their weights: each one's own, or its part of its tenant's, which is divided
// among those of its class that request the device.
class Contenders {
 public:
  // Those that may have the device now: those within their caps or, if there are none, those that may borrow; empty if
  // there are none of these either. And `also`, if it requests the device.
  Contenders(const View& state, Ns now, std::uint32_t also = kNobody);

  [[nodiscard]] bool has(std::uint32_t slot) const { return slot < count_ && weights_[slot] != 0; }
  [[nodiscard]] std::uint32_t weight(std::uint32_t slot) const { return weights_[slot]; }
  // The first class with a member, or the first from `from` on; kPriorities if there is none.
  [[nodiscard]] unsigned first_class(const View& state, unsigned from = 0) const;

 private:
  template <typename Among>
  bool choose(const View& state, Among among);

  std::array<std::uint32_t, kMaxParticipants> weights_{};  // 0: not in the set
  std::uint32_t count_ = 0;
};

// The weight of a participant, whether it requests the device or not: its tenant's weight, divided by as many as would
// request it together with this one.
[[nodiscard]] std::uint32_t weight_of(const View& state, std::uint32_t slot);

// Whether a participant requests the device that is within its cap and does not share the limits of `slot`.
[[nodiscard]] bool others_want_it(const View& state, std::uint32_t slot, Ns now);

// How much device time a participant may have beyond its cap: `burst` may be owed before it is held back; `late` may be
// made up for afterwards if others had the device meanwhile.
struct Tolerance {
  Ns burst;
  Ns late;
};

// `slot` has had the device: it and its tenant's others owe for that, each by its own cap.
void charge_caps(const View& state, std::uint32_t slot, Ns from, Ns until, Tolerance tolerance);

// Whether others have the limits of `slot` as well; and how many did and have left since the totals were last taken.
[[nodiscard]] bool has_company_in_tenant(const View& state, std::uint32_t slot);
[[nodiscard]] std::uint64_t left_of_tenant(const View& state, std::uint32_t slot);

// Limits what `slot` owes to what is possible: it owed what `then` says at `since`, and its tenant had the device until
// `until`, or not at all if that is not later than `since`.
void confine_caps(const View& state, std::uint32_t slot, const Participant& then, Ns since, Ns until,
                  Tolerance tolerance);

// Forgives this much of what `slot` owes since it got the device. Not for those that may borrow, which perhaps owe
// nothing.
void credit_caps(const View& state, std::uint32_t slot, Ns time, Ns now, Tolerance tolerance);

}  // namespace cleave::turns
