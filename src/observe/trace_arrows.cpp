#include "observe/trace_arrows.h"

#include <map>
#include <optional>

#include "base/text/json.h"
#include "observe/trace_lines.h"

namespace cleave::observe {
namespace {

class Arrows {
 public:
  Arrows(const std::vector<TraceIndex>& files, const TraceClocks& clocks,
         const std::vector<std::int64_t>& pids, std::vector<AddedEvent>& added)
      : files_(files), clocks_(clocks), pids_(pids), added_(added) {}

  std::uint64_t add();

 private:
  struct Point {
    std::size_t file;
    TraceIndex::Anchor anchor;
  };
  void add_local(std::size_t file);
  void add_sent(std::size_t file, const TraceIndex::SentCommand& sent);
  // From the first point over the others to the last.
  void add_arrow(const std::vector<Point>& points);

  const std::vector<TraceIndex>& files_;
  const TraceClocks& clocks_;
  const std::vector<std::int64_t>& pids_;
  std::vector<AddedEvent>& added_;
  std::map<std::string, std::size_t> server_of_;                             // by session
  std::map<std::size_t, std::map<std::uint64_t, std::uint64_t>> launch_of_;  // by server, by command
  std::uint64_t arrows_ = 0;
};

// Where the launch began on the device; without profiling, when the process got the device for it.
std::optional<TraceIndex::Anchor> execution(const TraceIndex& file, std::uint64_t launch) {
  for (const auto* all : {&file.runs, &file.turns}) {
    if (const auto found = all->find(launch); found != all->end()) return found->second;
  }
  return std::nullopt;
}

void Arrows::add_arrow(const std::vector<Point>& points) {
  if (points.size() < 2) return;
  ++arrows_;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool is_last = i + 1 == points.size();
    const auto& [file, anchor] = points[i];
    const std::int64_t time = clocks_.convert(file, anchor.time);
    base::JsonObject event;
    event.add("ph", i == 0 ? "s" : is_last ? "f" : "t").add("pid", pids_[file]);
    event.add("tid", anchor.track).add_json("ts", microseconds_of(time));
    event.add("id", arrows_).add("name", "command").add("cat", "arrow");
    if (is_last) event.add("bp", "e");
    added_.push_back({time, 0, TraceIndex::Rank::arrow, event.text()});
  }
}

// Of the launches that the process has made of its own accord.
void Arrows::add_local(std::size_t file) {
  for (const auto& [number, launch] : files_[file].launches) {
    const auto ran = execution(files_[file], number);
    if (launch.command == 0 && ran) add_arrow({{file, launch.call}, {file, *ran}});
  }
}

void Arrows::add_sent(std::size_t file, const TraceIndex::SentCommand& sent) {
  const auto session = server_of_.find(sent.session);
  if (session == server_of_.end()) return;
  const std::size_t server = session->second;
  const auto request = files_[server].requests.find(sent.command);
  if (request == files_[server].requests.end()) return;
  std::vector<Point> points{{file, sent.call}, {server, request->second}};
  const auto& launches = launch_of_[server];
  if (const auto launch = launches.find(sent.command); launch != launches.end()) {
    if (const auto ran = execution(files_[server], launch->second)) points.push_back({server, *ran});
  }
  add_arrow(points);
}

std::uint64_t Arrows::add() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    add_local(i);
    if (files_[i].served.empty()) continue;
    server_of_[files_[i].served] = i;
    for (const auto& [number, launch] : files_[i].launches) {
      if (launch.command != 0) launch_of_[i][launch.command] = number;
    }
  }
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const TraceIndex::SentCommand& each : files_[i].sent) add_sent(i, each);
  }
  return arrows_;
}

}  // namespace

std::uint64_t add_arrows(const std::vector<TraceIndex>& files, const TraceClocks& clocks,
                         const std::vector<std::int64_t>& pids, std::vector<AddedEvent>& added) {
  return Arrows(files, clocks, pids, added).add();
}

}  // namespace cleave::observe
