#include "neighbours/staleness.h"

#include <algorithm>

namespace cleave::neighbours {

Freshness freshness_of(const std::optional<TimedCount>& count, base::Nanoseconds max_age,
                       base::Nanoseconds now) {
  if (!count) return Freshness::never;
  return now - count->at <= max_age ? Freshness::fresh : Freshness::stale;
}

unsigned combined_count(std::span<const std::optional<TimedCount>> counts) {
  unsigned largest = 1;
  for (const auto& count : counts) largest = std::max(largest, count ? count->vms : 1);
  return std::min(largest, kMaxBelievedVms);
}

std::optional<base::Nanoseconds> next_expiry(std::span<const std::optional<TimedCount>> counts,
                                             base::Nanoseconds max_age, base::Nanoseconds now) {
  std::optional<base::Nanoseconds> first;
  for (const auto& count : counts) {
    if (freshness_of(count, max_age, now) != Freshness::fresh) continue;
    const base::Nanoseconds expiry = count->at + max_age + base::Nanoseconds(1);
    first = std::min(first.value_or(expiry), expiry);
  }
  return first;
}

}  // namespace cleave::neighbours
