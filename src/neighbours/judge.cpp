#include "neighbours/judge.h"

#include <algorithm>

namespace cleave::neighbours {

Knowledge judge(const std::optional<Heard>& heard, const Rules& rules, base::Nanoseconds now) {
  if (!heard) return Knowledge::nothing;
  return now - heard->at <= rules.max_age ? Knowledge::known : Knowledge::stale;
}

unsigned weigh(const std::optional<Heard>& heard, const Rules& rules, base::Nanoseconds now) {
  using Kind = base::StaleCount::Kind;
  if (judge(heard, rules, now) == Knowledge::known) return heard->vms;
  if (rules.stale.kind == Kind::number) return rules.stale.vms;
  return rules.stale.kind == Kind::last && heard ? heard->vms : 1;
}

unsigned weigh_all(std::span<const std::optional<Heard>> sources, const Rules& rules, base::Nanoseconds now) {
  unsigned most = 1;
  for (const auto& heard : sources) most = std::max(most, weigh(heard, rules, now));
  return most;
}

std::optional<base::Nanoseconds> next_stale(std::span<const std::optional<Heard>> sources, const Rules& rules,
                                            base::Nanoseconds now) {
  std::optional<base::Nanoseconds> first;
  for (const auto& heard : sources) {
    if (judge(heard, rules, now) != Knowledge::known) continue;
    const base::Nanoseconds end = heard->at + rules.max_age + base::Nanoseconds(1);
    first = std::min(first.value_or(end), end);
  }
  return first;
}

}  // namespace cleave::neighbours
