// Combines the counts of several sources, of different ages, into one.
//
// Thread-safe: pure functions; the time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"

namespace cleave::neighbours {

// A number of VMs, and when it was last received or confirmed.
struct TimedCount {
  unsigned vms = 1;  // at least 1
  base::Nanoseconds at{0};
};

// How much the machines of the host lack the processor, in thousandths (docs/monitor.md), and when that was last received or
// confirmed.
struct TimedPressure {
  unsigned thousandths = 0;
  base::Nanoseconds at{0};
};

enum class Freshness : std::uint8_t {
  fresh,  // confirmed within the last max_age
  stale,  // last confirmed before that
  never,  // never received
};

// A larger count of a source counts as this many: far more machines than a host of today runs, and few enough for a source that lies
// not to make launches arbitrarily small.
inline constexpr unsigned kMaxBelievedVms = 256;

Freshness freshness_of(const std::optional<TimedCount>& count, base::Nanoseconds max_age,
                       base::Nanoseconds now);

// The largest last count of the sources, stale ones too: a monitor falls silent because it is restarted, not because the other
// machines have gone. 1 if there are none.
unsigned combined_count(std::span<const std::optional<TimedCount>> counts);

// When the next count becomes stale unless it is confirmed; empty if none is fresh.
std::optional<base::Nanoseconds> next_expiry(std::span<const std::optional<TimedCount>> counts,
                                             base::Nanoseconds max_age, base::Nanoseconds now);

}  // namespace cleave::neighbours
