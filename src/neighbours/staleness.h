// From what several sources say to one number. Pure: the time is an argument.
//
// Thread-safe: plain functions of their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/settings.h"
#include "neighbours/monitor_protocol.h"

namespace cleave::neighbours {

enum class Freshness : std::uint8_t {
  fresh,  // confirmed within the last max_age
  stale,  // confirmed, but too long ago
  never,  // never said
};

struct StalenessRules {
  base::Nanoseconds max_age{0};
  base::StaleCount stale;
};

Freshness freshness_of(const std::optional<TimedCount>& last_count, const StalenessRules& rules,
                       base::Nanoseconds now);

// What one source counts for: a number that is known, as it is; a stale one as the rules say. From a source
// that has never said anything there is nothing to remember: a number in the rules stands for it, or else
// this machine is alone.
unsigned effective_count(const std::optional<TimedCount>& last_count, const StalenessRules& rules,
                         base::Nanoseconds now);

// The largest that any source counts for; 1 without sources.
unsigned combined_count(std::span<const std::optional<TimedCount>> sources, const StalenessRules& rules,
                        base::Nanoseconds now);

// When the next of them will be stale if nothing more is heard; empty where none is known.
std::optional<base::Nanoseconds> next_expiry(std::span<const std::optional<TimedCount>> sources,
                                             const StalenessRules& rules, base::Nanoseconds now);

}  // namespace cleave::neighbours
