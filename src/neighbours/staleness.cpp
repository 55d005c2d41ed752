#include "neighbours/staleness.h"

#include <algorithm>

namespace cleave::neighbours {

Freshness freshness_of(const std::optional<TimedCount>& count, const StalenessRules& rules,
                       base::Nanoseconds now) {
  if (!count) return Freshness::never;
  return now - count->at <= rules.max_age ? Freshness::fresh : Freshness::stale;
}

unsigned effective_count(const std::optional<TimedCount>& count, const StalenessRules& rules,
                         base::Nanoseconds now) {
  using Kind = base::StaleCount::Kind;
  if (freshness_of(count, rules, now) == Freshness::fresh) return std::min(count->vms, rules.max_vms);
  if (rules.stale.kind == Kind::number) return rules.stale.vms;
  return rules.stale.kind == Kind::last && count ? std::min(count->vms, rules.max_vms) : 1;
}

unsigned combined_count(std::span<const std::optional<TimedCount>> counts, const StalenessRules& rules,
                        base::Nanoseconds now) {
  unsigned largest = 1;
  for (const auto& count : counts) largest = std::max(largest, effective_count(count, rules, now));
  return largest;
}

std::optional<base::Nanoseconds> next_expiry(std::span<const std::optional<TimedCount>> counts,
                                             const StalenessRules& rules, base::Nanoseconds now) {
  std::optional<base::Nanoseconds> first;
  for (const auto& count : counts) {
    if (freshness_of(count, rules, now) != Freshness::fresh) continue;
    const base::Nanoseconds expiry = count->at + rules.max_age + base::Nanoseconds(1);
    first = std::min(first.value_or(expiry), expiry);
  }
  return first;
}

}  // namespace cleave::neighbours
