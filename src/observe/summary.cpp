#include "observe/summary.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "observe/json.h"

namespace cleave::observe {
namespace {

template <typename... Args>
std::string formatted(const char* format, Args... args) {
  const int length = std::snprintf(nullptr, 0, format, args...);
  std::string text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, args...);
  text.pop_back();
  return text;
}

KernelStatistics sum(const std::vector<Counters::Named>& kernels) {
  KernelStatistics total;
  for (const auto& kernel : kernels) total += kernel.statistics;
  return total;
}

std::string duration(base::Nanoseconds time) {
  const auto ns = static_cast<double>(time.count());
  if (ns < 1e6) return formatted("%.1f us", ns / 1e3);
  if (ns < 1e9) return formatted("%.1f ms", ns / 1e6);
  return formatted("%.2f s", ns / 1e9);
}

// "3: 2 small, 1 kernel", or "0".
std::string unsplit_with_reasons(const KernelStatistics& statistics, const SummaryContext& summary_context) {
  std::string why;
  for (std::size_t i = 0; i < kUnsplitReasonCount; ++i) {
    if (statistics.unsplit[i] == 0) continue;
    why += formatted("%s%" PRIu64 " %s", why.empty() ? ": " : ", ", statistics.unsplit[i],
                     summary_context.reasons[i]);
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

std::string json_of(const KernelStatistics& statistics, const SummaryContext& summary_context) {
  std::string text = formatted("\"launches\":%" PRIu64 ",\"split\":%" PRIu64 ",\"slices\":%" PRIu64
                               ",\"added_ns\":%" PRId64 ",\"unsplit\":{",
                               statistics.launches, statistics.split, statistics.slices,
                               static_cast<std::int64_t>(statistics.added.count()));
  for (std::size_t i = 0; i < kUnsplitReasonCount; ++i) {
    text +=
        formatted("%s\"%s\":%" PRIu64, i == 0 ? "" : ",", summary_context.reasons[i], statistics.unsplit[i]);
  }
  text += formatted("},\"pipelined\":%" PRIu64 ",\"queued\":{", statistics.pipelined);
  for (std::size_t i = 0; i < kSingleQueueReasonCount; ++i) {
    text += formatted("%s\"%s\":%" PRIu64, i == 0 ? "" : ",", summary_context.queued_reasons[i],
                      statistics.queued[i]);
  }
  return text + "}";
}

std::string json_of(const std::vector<CostFigures>& costs) {
  if (costs.empty()) return {};
  std::string text;
  for (const CostFigures& cost : costs) {
    text += formatted("%s{\"launch\":%s,\"slices\":%zu,\"loss\":%.4f,\"duration_ns\":%" PRId64
                      ",\"measured\":%" PRIu64 ",\"words\":%s}",
                      text.empty() ? "" : ",", quoted(cost.launch).c_str(), cost.slices, cost.loss,
                      static_cast<std::int64_t>(cost.duration.count()), cost.measured,
                      quoted(cost.words).c_str());
  }
  return ",\"learnt\":[" + text + "]";
}

}  // namespace

std::string as_text(const std::vector<Counters::Named>& kernels, const SummaryContext& summary_context) {
  if (kernels.empty()) return {};
  std::size_t width = 6;
  for (const auto& kernel : kernels) width = std::max(width, std::min<std::size_t>(kernel.name.size(), 40));

  std::string text =
      formatted("cleave: %u VM%s%s, policy %s\n", summary_context.vms, summary_context.vms == 1 ? "" : "s",
                describe_source(summary_context.neighbours).c_str(), summary_context.policy.c_str());
  const auto row = [&](const std::string& name, const KernelStatistics& statistics) {
    text += formatted("cleave: %-*s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %10s  %s\n",
                      static_cast<int>(width), name.c_str(), statistics.launches, statistics.split,
                      statistics.slices, duration(statistics.added).c_str(),
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
                      duration(summary_context.waits.slept).c_str());
  }
  return text;
}

std::string as_json(const std::vector<Counters::Named>& kernels, const SummaryContext& summary_context) {
  const NeighbourFigures& neighbours = summary_context.neighbours;
  std::string text = formatted(
      "{\"version\":1,\"vms\":%u,\"neighbours\":{\"source\":%s,\"state\":%s,\"stale\":%" PRIu64
      ",\"changes\":%" PRIu64 "},\"waits\":{\"sleeping\":%" PRIu64 ",\"slept_ns\":%" PRId64
      "},\"policy\":%s,",
      summary_context.vms, quoted(neighbours.source).c_str(), quoted(neighbours.state).c_str(),
      neighbours.stale, neighbours.changes, summary_context.waits.sleeping,
      static_cast<std::int64_t>(summary_context.waits.slept.count()), quoted(summary_context.policy).c_str());
  text += json_of(sum(kernels), summary_context) + ",\"kernels\":[";
  bool first = true;
  for (const auto& kernel : kernels) {
    text += formatted("%s{\"name\":%s,", first ? "" : ",", quoted(kernel.name).c_str());
    text += json_of(kernel.statistics, summary_context) + "}";
    first = false;
  }
  return text + "]" + json_of(summary_context.costs) + "}\n";
}

}  // namespace cleave::observe
