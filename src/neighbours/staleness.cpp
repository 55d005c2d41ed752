#include "neighbours/staleness.h"

#include <algorithm>

namespace cleave::neighbours {

Freshness freshness_of(const std::optional<TimedCount>& last_count, const StalenessRules& rules,
                       base::Nanoseconds now) {
  if (!last_count) return Freshness::never;
  return now - last_count->at <= rules.max_age ? Freshness::fresh : Freshness::stale;
}

unsigned effective_count(const std::optional<TimedCount>& last_count, const StalenessRules& rules,
                         base::Nanoseconds now) {
  using Kind = base::StaleCount::Kind;
  if (freshness_of(last_count, rules, now) == Freshness::fresh) return last_count->vms;
  if (rules.stale.kind == Kind::number) return rules.stale.vms;
  return rules.stale.kind == Kind::last && last_count ? last_count->vms : 1;
}

unsigned combined_count(std::span<const std::optional<TimedCount>> sources, const StalenessRules& rules,
                        base::Nanoseconds now) {
  unsigned most = 1;
  for (const auto& last_count : sources) most = std::max(most, effective_count(last_count, rules, now));
  return most;
}

std::optional<base::Nanoseconds> next_expiry(std::span<const std::optional<TimedCount>> sources,
                                             const StalenessRules& rules, base::Nanoseconds now) {
  std::optional<base::Nanoseconds> first;
  for (const auto& last_count : sources) {
    if (freshness_of(last_count, rules, now) != Freshness::fresh) continue;
    const base::Nanoseconds end = last_count->at + rules.max_age + base::Nanoseconds(1);
    first = std::min(first.value_or(end), end);
  }
  return first;
}

}  // namespace cleave::neighbours
