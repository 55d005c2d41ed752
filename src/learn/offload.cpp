#include "learn/offload.h"

#include <algorithm>
#include <cstdio>

namespace cleave::learn {
namespace {

using base::Nanoseconds;

constexpr double kNever = 1e18;  // nanoseconds: more than any run takes

Nanoseconds nanoseconds(double time) {
  return Nanoseconds(static_cast<std::int64_t>(std::clamp(time, 0.0, kNever)));
}

double number(Nanoseconds time) { return static_cast<double>(time.count()); }

bool is_other_work(std::uint64_t before, std::uint64_t now) { return now / 2 > before || before / 2 > now; }

bool is_other_work(const Traffic& before, const Traffic& now) {
  return is_other_work(before.round_trips, now.round_trips) || is_other_work(before.bytes, now.bytes);
}

bool is_known(const std::optional<RunCost>& cost) { return cost && cost->runs >= kRunsToKnow; }

// The known device of this machine with the shortest prediction; null if there is none.
const RunCost* best_local(std::span<const OffloadCandidate> candidates) {
  const RunCost* best = nullptr;
  for (const OffloadCandidate& candidate : candidates) {
    if (candidate.link || !is_known(candidate.known)) continue;
    if (best == nullptr || candidate.known->compute < best->compute) best = &*candidate.known;
  }
  return best;
}

struct Expected {
  std::size_t index;
  Nanoseconds time;
  bool trial;
};

// Of a device elsewhere, where the program is known to move as much as `here` says.
Expected expect(std::size_t index, const OffloadCandidate& candidate, const RunCost* here) {
  if (!candidate.reachable) return {index, nanoseconds(kNever), false};
  if (is_known(candidate.known)) return {index, predict(*candidate.known, candidate.link), false};
  return {index, here != nullptr ? cost_of(*candidate.link, here->traffic) : Nanoseconds(0), true};
}

std::vector<Expected> expect_all(std::span<const OffloadCandidate> candidates, const RunCost* here) {
  std::vector<Expected> all;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].link) all.push_back(expect(i, candidates[i], here));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Expected& one, const Expected& other) { return one.time < other.time; });
  return all;
}

OffloadReason reason_of(const Expected& best, bool is_faster) {
  if (best.trial) return is_faster ? OffloadReason::trial : OffloadReason::link_too_slow;
  return is_faster ? OffloadReason::faster : OffloadReason::slower;
}

std::string milliseconds(Nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", number(time) / 1e6);
  return text;
}

}  // namespace

Nanoseconds cost_of(const Link& link, const Traffic& traffic) {
  const double waits = number(link.round_trip) * static_cast<double>(traffic.round_trips);
  const double data =
      link.bytes_per_second > 0 ? static_cast<double>(traffic.bytes) / link.bytes_per_second * 1e9 : 0;
  return nanoseconds(waits + data);
}

RunCost cost_of_run(Nanoseconds waited, const Traffic& traffic, const std::optional<Link>& link) {
  RunCost cost;
  cost.traffic = traffic;
  cost.link_cost = link ? cost_of(*link, traffic) : Nanoseconds(0);
  cost.link = std::min(waited, cost.link_cost);
  cost.compute = waited - cost.link;
  cost.runs = 1;
  return cost;
}

RunCost updated(const std::optional<RunCost>& old, const RunCost& run) {
  if (!old || is_other_work(old->traffic, run.traffic)) return run;
  RunCost now = run;
  if (run.compute > old->compute) now.compute = old->compute + (run.compute - old->compute) / 4;
  now.runs = std::min(old->runs + 1, kRunsKept);
  return now;
}

Nanoseconds predict(const RunCost& known, const std::optional<Link>& link) {
  if (!link) return known.compute;
  const double share = known.link_cost.count() > 0 ? number(known.link) / number(known.link_cost) : 1;
  return nanoseconds(number(known.compute) + share * number(cost_of(*link, known.traffic)));
}

OffloadDecision decide_offload(std::span<const OffloadCandidate> candidates) {
  const RunCost* const here = best_local(candidates);
  const std::vector<Expected> there = expect_all(candidates, here);
  OffloadDecision decision;
  for (const Expected& one : there) decision.remotes.push_back(one.index);
  if (here != nullptr) decision.local = here->compute;
  if (there.empty() || !candidates[there.front().index].reachable) {
    decision.reason = OffloadReason::unreachable;
    return decision;
  }
  if (here == nullptr) return decision;
  const Expected& best = there.front();
  decision.remote = best.time;
  decision.remote_first = number(best.time) < kMargin * number(here->compute);
  decision.reason = reason_of(best, decision.remote_first);
  return decision;
}

std::string describe(const OffloadDecision& decision) {
  const std::string here = milliseconds(decision.local);
  const std::string there = milliseconds(decision.remote);
  switch (decision.reason) {
    case OffloadReason::unreachable:
      return "local, no server answers";
    case OffloadReason::nothing_learnt:
      return "local, too few runs of this program on this machine's devices are known";
    case OffloadReason::link_too_slow:
      return "local, the link alone would take " + there + ", a run here takes " + here;
    case OffloadReason::trial:
      return "remote, to try it: the link would take " + there + ", a run here takes " + here;
    case OffloadReason::slower:
      return "local, " + here + " expected, " + there + " at the server";
    case OffloadReason::faster:
      return "remote, " + there + " expected, " + here + " here";
  }
  return {};
}

}  // namespace cleave::learn
