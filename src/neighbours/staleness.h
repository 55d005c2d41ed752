// Combines the counts of several sources, of different ages, into one.
//
// Thread-safe: pure functions; the time is an argument.
#pragma once

#include <climits>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/settings.h"

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

struct StalenessRules {
  base::Nanoseconds max_age{0};
  base::StaleCount stale;
  unsigned max_vms = UINT_MAX;  // a larger count of a source counts as this many
};

Freshness freshness_of(const std::optional<TimedCount>& count, const StalenessRules& rules,
                       base::Nanoseconds now);

// The number to use for one source: a fresh count as it is, but at most `max_vms`, and what the rules say for a stale one.
// For a source that never had a count, a number in the rules is used, else 1.
unsigned effective_count(const std::optional<TimedCount>& count, const StalenessRules& rules,
                         base::Nanoseconds now);

// The largest effective count of the sources; 1 if there are none.
unsigned combined_count(std::span<const std::optional<TimedCount>> counts, const StalenessRules& rules,
                        base::Nanoseconds now);

// When the next count becomes stale unless it is confirmed; empty if none is fresh.
std::optional<base::Nanoseconds> next_expiry(std::span<const std::optional<TimedCount>> counts,
                                             const StalenessRules& rules, base::Nanoseconds now);

}  // namespace cleave::neighbours
