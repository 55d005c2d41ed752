#include "observe/trace_merge.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "observe/clock_alignment.h"
#include "observe/trace_index.h"
#include "observe/trace_origin.h"

namespace cleave::observe {
namespace {

// Above any process id of Linux.
constexpr std::int64_t kFirstOwnPid = (std::int64_t{1} << 22) + 1;

std::string microseconds_of(std::int64_t ns) {
  std::array<char, 32> text{};
  const long long size = std::abs(static_cast<long long>(ns));
  std::snprintf(text.data(), text.size(), "%s%lld.%03lld", ns < 0 ? "-" : "", size / 1000, size % 1000);
  return text.data();
}

// What is JSON's inside of quotation marks, again with these.
std::string in_marks(const std::string& text) { return "\"" + text + "\""; }

// The way from a file's clock to the first file's.
struct Clock {
  std::string name;
  std::string host;
  std::vector<ClockAlignment> steps;  // one after the other
  std::size_t exchanges = 0;          // that the last step follows from
  bool known = false;

  [[nodiscard]] ClockAlignment::Estimate convert(std::int64_t time) const {
    ClockAlignment::Estimate result{time, 0};
    for (const ClockAlignment& step : steps) {
      const auto estimate = step.at(result.ahead);
      result.ahead += estimate.ahead;
      result.error += estimate.error;
    }
    return result;
  }
  [[nodiscard]] std::int64_t worst_error(std::int64_t begin, std::int64_t end) const {
    std::int64_t worst = 0;
    for (const ClockAlignment& step : steps) {
      worst += step.worst_error(begin, end);
      begin += step.at(begin).ahead;
      end += step.at(end).ahead;
    }
    return worst;
  }
};

// A line of the merged file: an event of a file, or one of our own.
struct Line {
  std::int64_t time = 0;
  std::int64_t duration = 0;
  std::uint64_t at = 0;  // in its file, or among our own
  std::uint32_t size = 0;
  std::uint16_t file = 0;
  std::uint8_t rank = 0;
};
constexpr std::uint16_t kOwn = UINT16_MAX;

class Merger {
 public:
  MergedTrace merge(const std::string& out, const std::vector<std::string>& files);

 private:
  bool read(const std::vector<std::string>& files);
  bool align();
  bool find_way(std::size_t from);
  [[nodiscard]] std::vector<ClockExchange> exchanges(std::size_t client, std::size_t server) const;
  void name_processes();
  void collect_lines();
  void add_arrows();
  void add_local_arrows(const TraceIndex& file);
  void add_device_rows();
  bool write(const std::string& out);

  struct Point {
    const TraceIndex* file;
    TraceIndex::Anchor anchor;
  };
  // From the first point over the others to the last.
  void add_arrow(const std::vector<Point>& points);
  [[nodiscard]] static std::optional<TraceIndex::Anchor> execution(const TraceIndex& file,
                                                                   std::uint64_t launch);
  void add_own(std::int64_t time, std::int64_t duration, std::uint8_t rank, std::string text);
  [[nodiscard]] std::size_t index(const TraceIndex& file) const {
    return static_cast<std::size_t>(&file - files_.data());
  }
  [[nodiscard]] std::int64_t time_of(const TraceIndex& file, std::int64_t time) const {
    return clocks_[clock_of_[index(file)]].convert(time).ahead;
  }
  std::int64_t own_pid() { return next_pid_++; }
  void name_process(std::int64_t pid, const std::string& name, const std::string& labels);

  MergedTrace result_;
  std::vector<TraceIndex> files_;
  std::vector<Clock> clocks_;
  std::vector<std::size_t> clock_of_;  // by file
  std::vector<std::int64_t> pid_of_;   // by file
  std::int64_t next_pid_ = kFirstOwnPid;
  std::vector<std::string> head_;  // lines without a time
  std::vector<std::string> own_;
  std::vector<Line> lines_;
};

bool Merger::read(const std::vector<std::string>& files) {
  if (files.size() >= kOwn) return result_.problem = "too many files", false;
  files_.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files_[i].read(files[i], result_.problem)) return false;
    const std::string name = files_[i].clock.empty() ? "file " + std::to_string(i) : files_[i].clock;
    const auto found =
        std::find_if(clocks_.begin(), clocks_.end(), [&](const Clock& each) { return each.name == name; });
    clock_of_.push_back(static_cast<std::size_t>(found - clocks_.begin()));
    if (found == clocks_.end()) clocks_.push_back({name, files_[i].host, {}, 0, i == 0});
  }
  return true;
}

// Of clients with the one clock with servers with the other.
std::vector<ClockExchange> Merger::exchanges(std::size_t client, std::size_t server) const {
  std::vector<ClockExchange> all;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (clock_of_[i] != client) continue;
    for (std::size_t j = 0; j < files_.size(); ++j) {
      if (clock_of_[j] != server || files_[j].served.empty()) continue;
      const auto found = files_[i].exchanges.find(files_[j].served);
      if (found != files_[i].exchanges.end())
        all.insert(all.end(), found->second.begin(), found->second.end());
    }
  }
  return all;
}

// Aligns all clocks that were compared with this one. False: those comparisons contradict each other.
bool Merger::find_way(std::size_t from) {
  for (std::size_t to = 0; to < clocks_.size(); ++to) {
    if (clocks_[to].known) continue;
    const auto as_server = exchanges(from, to);
    const auto as_client = exchanges(to, from);
    if (as_server.empty() && as_client.empty()) continue;
    const auto step = as_server.size() >= as_client.size() ? ClockAlignment::of_client(as_server)
                                                           : ClockAlignment::of_server(as_client);
    if (!step) {
      result_.problem =
          "the clocks of " + clocks_[from].host + " and " + clocks_[to].host +
          " cannot be aligned: the exchanges between them contradict each other (was one of the "
          "machines suspended?)";
      return false;
    }
    clocks_[to].steps = {*step};
    clocks_[to].steps.insert(clocks_[to].steps.end(), clocks_[from].steps.begin(), clocks_[from].steps.end());
    clocks_[to].exchanges = std::max(as_server.size(), as_client.size());
    clocks_[to].known = true;
  }
  return true;
}

bool Merger::align() {
  for (std::size_t round = 0; round < clocks_.size(); ++round) {
    for (std::size_t from = 0; from < clocks_.size(); ++from) {
      if (clocks_[from].known && !find_way(from)) return false;
    }
  }
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (clocks_[clock_of_[i]].known) continue;
    result_.problem = files_[i].path + ": its clock cannot be aligned with that of " + files_[0].path +
                      ": give the traces of a client and its server that connect the two hosts, too";
    return false;
  }
  return true;
}

void Merger::name_process(std::int64_t pid, const std::string& name, const std::string& labels) {
  const auto line = [&](const char* what, const char* key, const std::string& value) {
    head_.push_back(base::JsonObject()
                        .add("ph", "M")
                        .add("pid", pid)
                        .add("name", what)
                        .add_json("args", base::JsonObject().add_json(key, in_marks(value)).text())
                        .text());
  };
  line("process_name", "name", name);
  if (!labels.empty()) line("process_labels", "labels", labels);
}

void Merger::name_processes() {
  std::map<std::pair<std::size_t, std::string>, std::int64_t> known;
  std::set<std::int64_t> taken;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const TraceIndex& file = files_[i];
    const std::size_t clock = clock_of_[i];
    const std::string process = file.process.empty() ? "file " + std::to_string(i) : file.process;
    const auto [found, is_new] = known.try_emplace({clock, process}, 0);
    if (is_new) {
      found->second = taken.insert(file.pid).second ? file.pid : own_pid();
      std::string labels = file.labels;
      const std::string host = clocks_.size() > 1 ? " on " + file.host : "";
      if (!clocks_[clock].steps.empty() && !file.entries.empty()) {
        const auto [first, last] = std::minmax_element(
            file.entries.begin(), file.entries.end(),
            [](const TraceIndex::Entry& a, const TraceIndex::Entry& b) { return a.time < b.time; });
        const std::int64_t error = clocks_[clock].worst_error(first->time, last->time);
        const auto at = clocks_[clock].convert(first->time);
        const std::string text = "clock aligned by " + std::to_string(clocks_[clock].exchanges) +
                                 " exchanges, within " + microseconds_of(error) + " us";
        labels += ", " + text;
        head_.push_back(base::JsonObject()
                            .add("ph", "M")
                            .add("pid", found->second)
                            .add("name", "cleave_alignment")
                            .add_json("args", base::JsonObject()
                                                  .add("exchanges", clocks_[clock].exchanges)
                                                  .add("ahead_ns", first->time - at.ahead)
                                                  .add("error_ns", error)
                                                  .text())
                            .text());
        result_.clocks.push_back(file.path + ": " + text);
      }
      name_process(found->second, file.name + host, labels);
    }
    pid_of_.push_back(found->second);
  }
  result_.processes = known.size();
}

// With another process id and, but for names, time.
std::string rewritten(const JsonMembers& event, std::int64_t pid, std::optional<std::int64_t> time) {
  base::JsonObject made;
  for (const auto& [key, value] : event.all()) {
    if (key == "pid") {
      made.add("pid", pid);
    } else if (key == "ts" && time) {
      made.add_json("ts", microseconds_of(*time));
    } else {
      made.add_json(key, value);
    }
  }
  return made.text();
}

void Merger::collect_lines() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const std::string& line : files_[i].names) {
      if (const auto event = JsonMembers::of(line))
        head_.push_back(rewritten(*event, pid_of_[i], std::nullopt));
    }
    for (const TraceIndex::Entry& each : files_[i].entries) {
      lines_.push_back({time_of(files_[i], each.time), each.duration, each.at, each.size,
                        static_cast<std::uint16_t>(i), each.rank});
    }
    result_.events += files_[i].entries.size();
    files_[i].entries = {};
  }
}

void Merger::add_own(std::int64_t time, std::int64_t duration, std::uint8_t rank, std::string text) {
  lines_.push_back({time, duration, own_.size(), 0, kOwn, rank});
  own_.push_back(std::move(text));
}

void Merger::add_arrow(const std::vector<Point>& points) {
  if (points.size() < 2) return;
  ++result_.arrows;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool is_last = i + 1 == points.size();
    const std::int64_t time = time_of(*points[i].file, points[i].anchor.time);
    base::JsonObject event;
    event.add("ph", i == 0 ? "s" : is_last ? "f" : "t").add("pid", pid_of_[index(*points[i].file)]);
    event.add("tid", points[i].anchor.track).add_json("ts", microseconds_of(time));
    event.add("id", result_.arrows).add("name", "command").add("cat", "arrow");
    if (is_last) event.add("bp", "e");
    add_own(time, 0, TraceIndex::Rank::arrow, event.text());
  }
}

// Where the launch began on the device; without profiling, when the process got the device for it.
std::optional<TraceIndex::Anchor> Merger::execution(const TraceIndex& file, std::uint64_t launch) {
  for (const auto* all : {&file.runs, &file.turns}) {
    if (const auto found = all->find(launch); found != all->end()) return found->second;
  }
  return std::nullopt;
}

// Of the launches that the process has made of its own accord.
void Merger::add_local_arrows(const TraceIndex& file) {
  for (const auto& [number, launch] : file.launches) {
    const auto ran = execution(file, number);
    if (launch.command == 0 && ran) add_arrow({{&file, launch.call}, {&file, *ran}});
  }
}

void Merger::add_arrows() {
  std::map<std::string, const TraceIndex*> servers;
  std::map<const TraceIndex*, std::map<std::uint64_t, std::uint64_t>> launch_of;  // by command
  for (const TraceIndex& file : files_) {
    add_local_arrows(file);
    if (file.served.empty()) continue;
    servers[file.served] = &file;
    for (const auto& [number, launch] : file.launches) {
      if (launch.command != 0) launch_of[&file][launch.command] = number;
    }
  }
  for (const TraceIndex& file : files_) {
    for (const TraceIndex::SentCommand& each : file.sent) {
      const auto server = servers.find(each.session);
      if (server == servers.end()) continue;
      const auto request = server->second->requests.find(each.command);
      if (request == server->second->requests.end()) continue;
      std::vector<Point> points{{&file, each.call}, {server->second, request->second}};
      const auto& launches = launch_of[server->second];
      if (const auto launch = launches.find(each.command); launch != launches.end()) {
        if (const auto ran = execution(*server->second, launch->second))
          points.push_back({server->second, *ran});
      }
      add_arrow(points);
    }
  }
}

// For each device a row that shows whose it was.
void Merger::add_device_rows() {
  struct Span {
    std::int64_t begin;
    std::int64_t end;
    std::size_t file;
  };
  std::map<std::pair<std::size_t, std::string>, std::pair<std::string, std::vector<Span>>> devices;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const TraceIndex::Hold& each : files_[i].holds) {
      std::string name = files_[i].track_names[each.track];
      auto& device = devices[{clock_of_[i], each.device.empty() ? name : each.device}];
      device.first = std::move(name);
      device.second.push_back({time_of(files_[i], each.begin), time_of(files_[i], each.end), i});
    }
  }
  std::map<std::size_t, std::int64_t> pids;  // by clock
  Track next = kOwnTracks;
  for (auto& [key, device] : devices) {
    const auto [pid, is_new] = pids.try_emplace(key.first, 0);
    if (is_new) {
      pid->second = own_pid();
      name_process(pid->second, "devices of " + clocks_[key.first].host, "");
    }
    const Track track = next++;
    head_.push_back(base::JsonObject()
                        .add("ph", "M")
                        .add("pid", pid->second)
                        .add("tid", track)
                        .add("name", "thread_name")
                        .add_json("args", base::JsonObject().add_json("name", in_marks(device.first)).text())
                        .text());
    auto& spans = device.second;
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    for (std::size_t i = 0; i < spans.size(); ++i) {
      // The one who gives it away may note that a little after the other has it.
      const std::int64_t end =
          i + 1 < spans.size() ? std::min(spans[i].end, spans[i + 1].begin) : spans[i].end;
      const std::int64_t holder = pid_of_[spans[i].file];
      add_own(spans[i].begin, end - spans[i].begin, TraceIndex::Rank::span,
              base::JsonObject()
                  .add("ph", "X")
                  .add("pid", pid->second)
                  .add("tid", track)
                  .add_json("ts", microseconds_of(spans[i].begin))
                  .add_json("dur", microseconds_of(end - spans[i].begin))
                  .add_json("name", in_marks(files_[spans[i].file].name + " " + std::to_string(holder)))
                  .add("cat", "holder")
                  .add_json("args", base::JsonObject().add("process", holder).text())
                  .text());
    }
  }
}

bool Merger::write(const std::string& out) {
  std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
    return std::tuple(a.time, a.rank, -a.duration, a.file, a.at) <
           std::tuple(b.time, b.rank, -b.duration, b.file, b.at);
  });
  const std::string made = out + ".part";
  std::ofstream stream(made, std::ios::binary | std::ios::trunc);
  const char* before = "[\n";
  const auto put = [&](const std::string& text) { stream << std::exchange(before, ",\n") << text; };
  for (const std::string& each : head_) put(each);
  std::vector<std::ifstream> sources;
  for (const TraceIndex& file : files_) sources.emplace_back(file.path, std::ios::binary);
  std::string text;
  for (const Line& line : lines_) {
    if (line.file == kOwn) {
      put(own_[line.at]);
      continue;
    }
    text.resize(line.size);
    std::ifstream& source = sources[line.file];
    source.seekg(static_cast<std::streamoff>(line.at));
    source.read(text.data(), static_cast<std::streamsize>(line.size));
    const auto event = source ? JsonMembers::of(text) : std::nullopt;
    if (!event) {
      std::remove(made.c_str());
      return result_.problem = files_[line.file].path + ": has changed meanwhile", false;
    }
    put(rewritten(*event, pid_of_[line.file], line.time));
  }
  stream << "\n]\n";
  stream.close();
  if (stream && std::rename(made.c_str(), out.c_str()) == 0) return true;
  const int error = errno;
  std::remove(made.c_str());
  return result_.problem = out + ": cannot be written (" + std::strerror(error) + ")", false;
}

MergedTrace Merger::merge(const std::string& out, const std::vector<std::string>& files) {
  if (!read(files) || !align()) return result_;
  name_processes();
  collect_lines();
  add_arrows();
  add_device_rows();
  write(out);
  return result_;
}

}  // namespace

MergedTrace merge_traces(const std::string& out, const std::vector<std::string>& files) {
  return Merger().merge(out, files);
}

}  // namespace cleave::observe
