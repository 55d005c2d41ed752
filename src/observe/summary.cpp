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

Tally sum(const std::vector<Counters::Named>& kernels) {
  Tally total;
  for (const auto& kernel : kernels) total += kernel.tally;
  return total;
}

std::string duration(base::Nanoseconds time) {
  const auto ns = static_cast<double>(time.count());
  if (ns < 1e6) return formatted("%.1f us", ns / 1e3);
  if (ns < 1e9) return formatted("%.1f ms", ns / 1e6);
  return formatted("%.2f s", ns / 1e9);
}

// "3: 2 small, 1 kernel", or "0".
std::string whole_and_why(const Tally& tally, const Circumstances& circumstances) {
  std::string why;
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (tally.whole[i] == 0) continue;
    why += formatted("%s%" PRIu64 " %s", why.empty() ? ": " : ", ", tally.whole[i], circumstances.reasons[i]);
  }
  return formatted("%" PRIu64, tally.launches - tally.split) + why;
}

// " (monitor: known, silent 2 times)", or nothing where the user has set the number.
std::string where_from(const NeighbourFigures& neighbours) {
  if (neighbours.state == "fixed" || neighbours.state.empty()) return {};
  const std::string silent =
      neighbours.stale == 0 ? "" : formatted(", silent %" PRIu64 " times", neighbours.stale);
  return " (" + neighbours.source + ": " + neighbours.state + silent + ")";
}

std::string json_of(const Tally& tally, const Circumstances& circumstances) {
  std::string text =
      formatted("\"launches\":%" PRIu64 ",\"split\":%" PRIu64 ",\"slices\":%" PRIu64 ",\"added_ns\":%" PRId64
                ",\"whole\":{",
                tally.launches, tally.split, tally.slices, static_cast<std::int64_t>(tally.added.count()));
  for (std::size_t i = 0; i < kReasons; ++i) {
    text += formatted("%s\"%s\":%" PRIu64, i == 0 ? "" : ",", circumstances.reasons[i], tally.whole[i]);
  }
  text += formatted("},\"pipelined\":%" PRIu64 ",\"queued\":{", tally.pipelined);
  for (std::size_t i = 0; i < kQueuedReasons; ++i) {
    text +=
        formatted("%s\"%s\":%" PRIu64, i == 0 ? "" : ",", circumstances.queued_reasons[i], tally.queued[i]);
  }
  return text + "}";
}

std::string json_of(const std::vector<LessonFigures>& lessons) {
  if (lessons.empty()) return {};
  std::string text;
  for (const LessonFigures& lesson : lessons) {
    text += formatted("%s{\"launch\":%s,\"slices\":%zu,\"loss\":%.4f,\"duration_ns\":%" PRId64
                      ",\"measured\":%" PRIu64 ",\"words\":%s}",
                      text.empty() ? "" : ",", quoted(lesson.launch).c_str(), lesson.slices, lesson.loss,
                      static_cast<std::int64_t>(lesson.duration.count()), lesson.measured,
                      quoted(lesson.words).c_str());
  }
  return ",\"learnt\":[" + text + "]";
}

}  // namespace

std::string as_text(const std::vector<Counters::Named>& kernels, const Circumstances& circumstances) {
  if (kernels.empty()) return {};
  std::size_t width = 6;
  for (const auto& kernel : kernels) width = std::max(width, std::min<std::size_t>(kernel.name.size(), 40));

  std::string text =
      formatted("cleave: %u VM%s%s, policy %s\n", circumstances.vms, circumstances.vms == 1 ? "" : "s",
                where_from(circumstances.neighbours).c_str(), circumstances.policy.c_str());
  const auto row = [&](const std::string& name, const Tally& tally) {
    text += formatted("cleave: %-*s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %10s  %s\n",
                      static_cast<int>(width), name.c_str(), tally.launches, tally.split, tally.slices,
                      duration(tally.added).c_str(), whole_and_why(tally, circumstances).c_str());
  };
  text += formatted("cleave: %-*s %9s %9s %9s %10s  %s\n", static_cast<int>(width), "kernel", "launches",
                    "split", "slices", "added", "whole");
  for (const auto& kernel : kernels) row(kernel.name, kernel.tally);
  if (kernels.size() > 1) row("all", sum(kernels));
  for (const LessonFigures& lesson : circumstances.lessons)
    text += "cleave: learnt: " + lesson.launch + ": " + lesson.words + "\n";
  if (circumstances.waits.polite != 0) {
    text +=
        formatted("cleave: %" PRIu64 " polite wait%s, %s slept\n", circumstances.waits.polite,
                  circumstances.waits.polite == 1 ? "" : "s", duration(circumstances.waits.slept).c_str());
  }
  return text;
}

std::string as_json(const std::vector<Counters::Named>& kernels, const Circumstances& circumstances) {
  const NeighbourFigures& neighbours = circumstances.neighbours;
  std::string text = formatted(
      "{\"version\":1,\"vms\":%u,\"neighbours\":{\"source\":%s,\"state\":%s,\"stale\":%" PRIu64
      ",\"changes\":%" PRIu64 "},\"waits\":{\"polite\":%" PRIu64 ",\"slept_ns\":%" PRId64 "},\"policy\":%s,",
      circumstances.vms, quoted(neighbours.source).c_str(), quoted(neighbours.state).c_str(),
      neighbours.stale, neighbours.changes, circumstances.waits.polite,
      static_cast<std::int64_t>(circumstances.waits.slept.count()), quoted(circumstances.policy).c_str());
  text += json_of(sum(kernels), circumstances) + ",\"kernels\":[";
  bool first = true;
  for (const auto& kernel : kernels) {
    text += formatted("%s{\"name\":%s,", first ? "" : ",", quoted(kernel.name).c_str());
    text += json_of(kernel.tally, circumstances) + "}";
    first = false;
  }
  return text + "]" + json_of(circumstances.lessons) + "}\n";
}

}  // namespace cleave::observe
