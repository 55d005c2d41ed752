#include "observe/summary.h"

#include <algorithm>
#include <cinttypes>
#include <string_view>
#include <utility>

#include "base/text/format.h"
#include "base/text/json.h"

namespace cleave::observe {
namespace {

using base::formatted;

KernelStatistics sum(const std::vector<Counters::Named>& kernels) {
  KernelStatistics total;
  for (const auto& kernel : kernels) total += kernel.statistics;
  return total;
}

// How many launches were not split, by the names of the reasons, in the order in which these appear first.
using CountByName = std::vector<std::pair<std::string_view, std::uint64_t>>;

CountByName unsplit_by_name(const KernelStatistics& statistics, const SummaryContext& summary_context) {
  CountByName counts;
  for (std::size_t i = 0; i < kUnsplitReasonCount; ++i) {
    const std::string_view name = summary_context.reasons[i];
    const auto same =
        std::find_if(counts.begin(), counts.end(), [name](const auto& count) { return count.first == name; });
    if (same != counts.end()) {
      same->second += statistics.unsplit[i];
    } else {
      counts.emplace_back(name, statistics.unsplit[i]);
    }
  }
  return counts;
}

// "3: 2 small, 1 kernel", or "0".
std::string unsplit_with_reasons(const KernelStatistics& statistics, const SummaryContext& summary_context) {
  std::string why;
  for (const auto& [name, launches] : unsplit_by_name(statistics, summary_context)) {
    if (launches == 0) continue;
    why.append(formatted("%s%" PRIu64 " ", why.empty() ? ": " : ", ", launches)).append(name);
  }
  return formatted("%" PRIu64, statistics.launches - statistics.split) + why;
}

// " (monitor: known, silent 2 times)", or nothing if the user has set the number.
std::string describe_source(const NeighbourFigures& neighbours) {
  if (neighbours.state == "fixed" || neighbours.state.empty()) return {};
  const std::string silent =
      neighbours.stale == 0 ? "" : formatted(", silent %" PRIu64 " times", neighbours.stale);
  return " (" + neighbours.source + ": " + neighbours.state + silent + ")";
}

std::string json_of_unsplit(const KernelStatistics& statistics, const SummaryContext& summary_context) {
  base::JsonObject object;
  for (const auto& [name, launches] : unsplit_by_name(statistics, summary_context))
    object.add(name, launches);
  return object.text();
}

std::string json_of_queued(const KernelStatistics& statistics, const SummaryContext& summary_context) {
  base::JsonObject object;
  for (std::size_t i = 0; i < kSingleQueueReasonCount; ++i)
    object.add(summary_context.queued_reasons[i], statistics.queued[i]);
  return object.text();
}

void add(base::JsonObject& object, const KernelStatistics& statistics,
         const SummaryContext& summary_context) {
  object.add("launches", statistics.launches)
      .add("split", statistics.split)
      .add("slices", statistics.slices)
      .add("added_ns", statistics.added.count())
      .add_json("unsplit", json_of_unsplit(statistics, summary_context))
      .add("pipelined", statistics.pipelined)
      .add_json("queued", json_of_queued(statistics, summary_context));
}

std::string json_of(const NeighbourFigures& neighbours) {
  base::JsonObject object;
  object.add("source", neighbours.source)
      .add("state", neighbours.state)
      .add("stale", neighbours.stale)
      .add("changes", neighbours.changes);
  if (neighbours.restraint) {
    object
        .add_json("pressure", neighbours.pressure ? formatted("%.3f", *neighbours.pressure / 1000.0) : "null")
        .add("restraint", *neighbours.restraint);
  }
  return object.text();
}

std::string json_of(const CostFigures& cost) {
  return base::JsonObject()
      .add("launch", cost.launch)
      .add("slices", cost.slices)
      .add_json("loss", formatted("%.4f", cost.loss))
      .add("duration_ns", cost.duration.count())
      .add("measured", cost.measured)
      .add("words", cost.words)
      .text();
}

std::string json_of(const TurnFigures& figures) {
  base::JsonList waited_for;
  for (const WaitCauseFigures& cause : figures.waited_for) {
    waited_for.add_json(base::JsonObject()
                            .add("tenant", cause.tenant)
                            .add("pid", cause.pid)
                            .add("waited_ns", cause.waited.count())
                            .text());
  }
  return base::JsonObject()
      .add("device", figures.device)
      .add("file", figures.file)
      .add("state", figures.state)
      .add("problem", figures.problem)
      .add("launches", figures.launches)
      .add("turns", figures.turns)
      .add("waited_ns", figures.waited.count())
      .add("longest_wait_ns", figures.longest_wait.count())
      .add("capped_ns", figures.capped.count())
      .add_json("waited_for", waited_for.text())
      .add("held_ns", figures.held.count())
      .add("stalls", figures.stalls)
      .text();
}

std::string json_of(const TurnsSummary& turns) {
  base::JsonList devices;
  for (const TurnFigures& figures : turns.devices) devices.add_json(json_of(figures));
  base::JsonObject exempt;
  for (const auto& [reason, launches] : turns.exempt) exempt.add(reason, launches);
  return base::JsonObject().add_json("devices", devices.text()).add_json("exempt", exempt.text()).text();
}

std::string json_of(const MemoryFigures& figures) {
  return base::JsonObject()
      .add("device", figures.device)
      .add("bytes", figures.bytes)
      .add("peak_bytes", figures.peak)
      .add("limit_bytes", figures.limit)
      .add("refused", figures.refused)
      .text();
}

// A line for each device on which memory was refused.
std::string text_of(const std::vector<MemoryFigures>& memory) {
  std::string text;
  for (const MemoryFigures& figures : memory) {
    if (figures.refused == 0) continue;
    text += formatted("cleave: %s: %" PRIu64 " allocation%s beyond the memory limit of %" PRIu64
                      " bytes refused, %" PRIu64 " bytes at most in use\n",
                      figures.device.c_str(), figures.refused, figures.refused == 1 ? "" : "s", figures.limit,
                      figures.peak);
  }
  return text;
}

// A line for each device that was shared, or that should have been.
std::string text_of(const TurnsSummary& turns) {
  std::string text;
  for (const TurnFigures& figures : turns.devices) {
    const char* const device = figures.device.c_str();
    if (figures.launches != 0) {
      text += formatted("cleave: %s: %" PRIu64 " launch%s in %" PRIu64 " turn%s, held %s, waited %s", device,
                        figures.launches, figures.launches == 1 ? "" : "es", figures.turns,
                        figures.turns == 1 ? "" : "s", base::as_text(figures.held).c_str(),
                        base::as_text(figures.waited).c_str());
      text += formatted(" (%s at most)\n", base::as_text(figures.longest_wait).c_str());
    }
    if (!figures.problem.empty())
      text += formatted("cleave: %s: no turns: ", device) + figures.problem + "\n";
  }
  std::string exempt;
  for (const auto& [reason, launches] : turns.exempt) {
    if (launches != 0) exempt += formatted("%s%" PRIu64 " %s", exempt.empty() ? "" : ", ", launches, reason);
  }
  return exempt.empty() ? text : text + "cleave: launches that took no turn: " + exempt + "\n";
}

}  // namespace

std::string as_text(const std::vector<Counters::Named>& kernels, const SummaryContext& summary_context) {
  if (kernels.empty()) return "cleave: no launches\n";
  std::size_t width = 6;
  for (const auto& kernel : kernels) width = std::max(width, std::min<std::size_t>(kernel.name.size(), 40));

  std::string text =
      formatted("cleave: %u VM%s%s, policy %s\n", summary_context.vms, summary_context.vms == 1 ? "" : "s",
                describe_source(summary_context.neighbours).c_str(), summary_context.policy.c_str());
  const auto row = [&](const std::string& name, const KernelStatistics& statistics) {
    text += formatted("cleave: %-*s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %10s  %s\n",
                      static_cast<int>(width), name.c_str(), statistics.launches, statistics.split,
                      statistics.slices, base::as_text(statistics.added).c_str(),
                      unsplit_with_reasons(statistics, summary_context).c_str());
  };
  text += formatted("cleave: %-*s %9s %9s %9s %10s  %s\n", static_cast<int>(width), "kernel", "launches",
                    "split", "slices", "added", "unsplit");
  for (const auto& kernel : kernels) row(kernel.name, kernel.statistics);
  if (kernels.size() > 1) row("all", sum(kernels));
  for (const CostFigures& cost : summary_context.costs)
    text += "cleave: measured: " + cost.launch + ": " + cost.words + "\n";
  if (summary_context.waits.sleeping != 0) {
    text += formatted("cleave: %" PRIu64 " sleeping wait%s, %s slept\n", summary_context.waits.sleeping,
                      summary_context.waits.sleeping == 1 ? "" : "s",
                      base::as_text(summary_context.waits.slept).c_str());
  }
  return text + text_of(summary_context.turns) + text_of(summary_context.memory);
}

std::string as_json(const std::vector<Counters::Named>& kernels, const SummaryContext& summary_context) {
  const NeighbourFigures& neighbours = summary_context.neighbours;
  const WaitFigures& waits = summary_context.waits;
  base::JsonObject object;
  object.add("version", 1)
      .add("vms", summary_context.vms)
      .add_json("neighbours", json_of(neighbours))
      .add_json(
          "waits",
          base::JsonObject().add("sleeping", waits.sleeping).add("slept_ns", waits.slept.count()).text())
      .add("policy", summary_context.policy);
  add(object, sum(kernels), summary_context);
  base::JsonList list;
  for (const auto& kernel : kernels) {
    base::JsonObject one;
    one.add("name", kernel.name);
    add(one, kernel.statistics, summary_context);
    const auto explained = summary_context.explanations.find(kernel.name);
    if (explained != summary_context.explanations.end()) one.add_json("causes", as_json(explained->second));
    list.add_json(one.text());
  }
  object.add_json("kernels", list.text());
  base::JsonList costs;
  for (const CostFigures& cost : summary_context.costs) costs.add_json(json_of(cost));
  if (!summary_context.costs.empty()) object.add_json("learnt", costs.text());
  object.add_json("turns", json_of(summary_context.turns));
  object.add("tenant", summary_context.tenant);
  base::JsonList memory;
  for (const MemoryFigures& figures : summary_context.memory) memory.add_json(json_of(figures));
  object.add_json("memory", memory.text());
  return object.text() + "\n";
}

}  // namespace cleave::observe
