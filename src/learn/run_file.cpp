#include "learn/run_file.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "learn/checked_lines.h"

namespace cleave::learn {
namespace {

constexpr std::string_view kRunFormat = "1";
constexpr std::uint64_t kLongestRun = 1'000'000'000'000'000'000;  // nanoseconds

std::optional<RunLine> read_run(std::string_view whole) {
  const auto fields = fields_of(kRunFormat, whole);
  if (!fields) return std::nullopt;
  std::string_view rest = *fields;
  bool valid = true;
  const auto take = [&](std::uint64_t most) {
    const auto number = take_number(rest, most);
    valid = valid && number.has_value();
    return number.value_or(0);
  };
  const auto take_time = [&] { return base::Nanoseconds(static_cast<std::int64_t>(take(kLongestRun))); };
  RunLine line;
  line.program = take(UINT64_MAX);
  line.device = take(UINT64_MAX);
  line.cost.runs = static_cast<unsigned>(take(kRunsKept));
  line.cost.compute = take_time();
  line.cost.link = take_time();
  line.cost.link_cost = take_time();
  line.cost.traffic.round_trips = take(UINT64_MAX);
  line.cost.traffic.bytes = take(UINT64_MAX);
  if (!valid || !rest.empty() || line.cost.link > line.cost.link_cost) return std::nullopt;
  return line;
}

// Calls visit(line, its text) for the valid lines, the last first, once for each program and device.
template <typename Visit>
void for_each_run(std::string_view text, Visit visit) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for_each_line_backwards(text, [&](std::string_view text_of_line) {
    const auto line = read_run(text_of_line);
    if (line && seen.emplace(line->program, line->device).second) visit(*line, text_of_line);
  });
}

}  // namespace

std::string format_run(const RunLine& line) {
  const RunCost& cost = line.cost;
  std::string text;
  for (const std::uint64_t number :
       {line.program, line.device, std::uint64_t{cost.runs}, static_cast<std::uint64_t>(cost.compute.count()),
        static_cast<std::uint64_t>(cost.link.count()), static_cast<std::uint64_t>(cost.link_cost.count()),
        cost.traffic.round_trips, cost.traffic.bytes}) {
    text.append(text.empty() ? "" : " ").append(std::to_string(number));
  }
  return checked_line(kRunFormat, text);
}

std::vector<RunLine> runs_of(std::string_view text, std::uint64_t program) {
  std::vector<RunLine> lines;
  for_each_run(text, [&](const RunLine& line, std::string_view) {
    if (line.program == program) lines.push_back(line);
  });
  return lines;
}

std::string with_run(std::string_view old, const RunLine& run) {
  std::vector<std::string_view> kept;
  std::optional<RunCost> before;
  for_each_run(old, [&](const RunLine& line, std::string_view text_of_line) {
    if (line.program == run.program && line.device == run.device) {
      before = line.cost;
    } else if (kept.size() + 1 < kMaxRunLines) {
      kept.push_back(text_of_line);
    }
  });
  std::string text;
  for (auto line = kept.rbegin(); line != kept.rend(); ++line) text.append(*line).append("\n");
  return text + format_run({run.program, run.device, updated(before, run.cost)});
}

}  // namespace cleave::learn
