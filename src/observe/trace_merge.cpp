#include "observe/trace_merge.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/text/json.h"
#include "observe/trace_arrows.h"
#include "observe/trace_clocks.h"
#include "observe/trace_index.h"
#include "observe/trace_lines.h"

namespace cleave::observe {
namespace {

// Above any process id of Linux.
constexpr std::int64_t kFirstOwnPid = (std::int64_t{1} << 22) + 1;

// What is JSON's inside of quotation marks, again with these.
std::string in_marks(const std::string& text) { return "\"" + text + "\""; }

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
  bool read(const std::string& out, const std::vector<std::string>& files);
  void note_missing_sides();
  void name_processes();
  [[nodiscard]] std::string labels(std::size_t file, std::int64_t pid);
  void collect_lines();
  void add_device_rows();
  bool write(const std::string& out);
  bool write_lines(std::ofstream& stream);
  bool fail(const std::string& out);
  std::int64_t own_pid() { return next_pid_++; }
  void name_process(std::int64_t pid, const std::string& name, const std::string& labels);

  MergedTrace result_;
  std::vector<TraceIndex> files_;
  TraceClocks clocks_;
  std::vector<std::int64_t> pid_of_;  // by file
  std::int64_t next_pid_ = kFirstOwnPid;
  std::vector<std::string> head_;  // lines without a time
  std::vector<AddedEvent> own_;
  std::vector<Line> lines_;
};

bool Merger::read(const std::string& out, const std::vector<std::string>& files) {
  if (files.size() >= kOwn) return result_.problem = "too many files", false;
  for (const std::string& file : files) {
    std::error_code none;  // of one that is not there
    if (std::filesystem::equivalent(out, file, none))
      return result_.problem = out + ": is one of the traces; name the file to write first", false;
  }
  files_.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files_[i].read(files[i], result_.problem)) return false;
  }
  return clocks_.align(files_, result_.problem);
}

// A peer that does not trace, or is of a version that cannot, leaves nothing that calls could be connected with.
void Merger::note_missing_sides() {
  for (const TraceIndex& file : files_) {
    for (const std::string& server : file.untraced) {
      result_.notes.push_back(file.path + ": the server on " + server +
                              " has traced nothing of it (it was started without --trace, or is of an older "
                              "version), so its side is missing and not aligned");
    }
    if (file.served.empty()) continue;
    const bool has_client = std::any_of(files_.begin(), files_.end(), [&](const TraceIndex& other) {
      return other.exchanges.contains(file.served);
    });
    if (!has_client) {
      result_.notes.push_back(
          file.path +
          ": no file is of its client (FILE.remote, which a client without CLEAVE_TRACE, or of "
          "an older version, does not write), so the client's side is missing and not aligned");
    }
  }
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

std::string Merger::labels(std::size_t file, std::int64_t pid) {
  const auto& entries = files_[file].entries;
  if (entries.empty()) return files_[file].labels;
  const auto [first, last] = std::minmax_element(
      entries.begin(), entries.end(),
      [](const TraceIndex::Entry& a, const TraceIndex::Entry& b) { return a.time < b.time; });
  const auto alignment = clocks_.alignment(file, first->time, last->time);
  if (!alignment) return files_[file].labels;
  const std::string text = "clock aligned by " + std::to_string(alignment->exchanges) +
                           " exchanges, within " + microseconds_of(alignment->error) + " us";
  result_.clocks.push_back(files_[file].path + ": " + text);
  head_.push_back(base::JsonObject()
                      .add("ph", "M")
                      .add("pid", pid)
                      .add("name", "cleave_alignment")
                      .add_json("args", base::JsonObject()
                                            .add("exchanges", alignment->exchanges)
                                            .add("ahead_ns", alignment->ahead)
                                            .add("error_ns", alignment->error)
                                            .text())
                      .text());
  return files_[file].labels + ", " + text;
}

void Merger::name_processes() {
  std::map<std::pair<std::size_t, std::string>, std::int64_t> known;
  std::set<std::int64_t> taken;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const TraceIndex& file = files_[i];
    const std::string process = file.process.empty() ? "file " + std::to_string(i) : file.process;
    const auto [found, is_new] = known.try_emplace({clocks_.of(i), process}, 0);
    if (is_new) {
      found->second = taken.insert(file.pid).second ? file.pid : own_pid();
      const std::string host = clocks_.count() > 1 ? " on " + file.host : "";
      name_process(found->second, file.name + host, labels(i, found->second));
    }
    pid_of_.push_back(found->second);
  }
  result_.processes = known.size();
}

// With another process id and, except for names, time.
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
      lines_.push_back({clocks_.convert(i, each.time), each.duration, each.at, each.size,
                        static_cast<std::uint16_t>(i), each.rank});
    }
    result_.events += files_[i].entries.size();
    files_[i].entries = {};
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
      auto& device = devices[{clocks_.of(i), each.device.empty() ? name : each.device}];
      device.first = std::move(name);
      device.second.push_back({clocks_.convert(i, each.begin), clocks_.convert(i, each.end), i});
    }
  }
  std::map<std::size_t, std::int64_t> pids;  // by clock
  Track next = kOwnTracks;
  for (auto& [key, device] : devices) {
    const auto [pid, is_new] = pids.try_emplace(key.first, 0);
    if (is_new) {
      pid->second = own_pid();
      name_process(pid->second, "devices of " + clocks_.host(key.first), "");
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
      // The process that passes it on may record that a little after the other has it.
      const std::int64_t end =
          i + 1 < spans.size() ? std::min(spans[i].end, spans[i + 1].begin) : spans[i].end;
      const std::int64_t holder = pid_of_[spans[i].file];
      own_.push_back(
          {spans[i].begin, end - spans[i].begin, TraceIndex::Rank::span,
           base::JsonObject()
               .add("ph", "X")
               .add("pid", pid->second)
               .add("tid", track)
               .add_json("ts", microseconds_of(spans[i].begin))
               .add_json("dur", microseconds_of(end - spans[i].begin))
               .add_json("name", in_marks(files_[spans[i].file].name + " " + std::to_string(holder)))
               .add("cat", "holder")
               .add_json("args", base::JsonObject().add("process", holder).text())
               .text()});
    }
  }
}

bool Merger::write_lines(std::ofstream& stream) {
  const char* before = "[\n";
  const auto put = [&](const std::string& text) {
    stream << std::exchange(before, ",\n") << base::escaped(text);
  };
  for (const std::string& each : head_) put(each);
  std::vector<std::ifstream> sources;
  for (const TraceIndex& file : files_) sources.emplace_back(file.path, std::ios::binary);
  std::string text;
  for (const Line& line : lines_) {
    if (line.file == kOwn) {
      put(own_[line.at].text);
      continue;
    }
    text.resize(line.size);
    std::ifstream& source = sources[line.file];
    source.seekg(static_cast<std::streamoff>(line.at));
    source.read(text.data(), static_cast<std::streamsize>(line.size));
    const auto event = source ? JsonMembers::of(text) : std::nullopt;
    if (!event) return result_.problem = files_[line.file].path + ": has changed meanwhile", false;
    put(rewritten(*event, pid_of_[line.file], line.time));
  }
  stream << "\n]\n";
  return true;
}

bool Merger::write(const std::string& out) {
  for (std::size_t i = 0; i < own_.size(); ++i)
    lines_.push_back({own_[i].time, own_[i].duration, i, 0, kOwn, own_[i].rank});
  std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
    return std::tuple(a.time, a.rank, -a.duration, a.file, a.at) <
           std::tuple(b.time, b.rank, -b.duration, b.file, b.at);
  });
  const std::string made = out + ".part";
  std::remove(made.c_str());  // what a merge that was killed has left
  const base::FileDescriptor file(::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.is_open()) return fail(out);
  std::ofstream stream(made, std::ios::binary);
  const bool is_whole = write_lines(stream);
  stream.close();
  if (is_whole && stream && std::rename(made.c_str(), out.c_str()) == 0) return true;
  if (is_whole) fail(out);
  std::remove(made.c_str());
  return false;
}

bool Merger::fail(const std::string& out) {
  result_.problem = out + ": cannot be written (" + std::strerror(errno) + ")";
  return false;
}

MergedTrace Merger::merge(const std::string& out, const std::vector<std::string>& files) {
  if (!read(out, files)) return result_;
  note_missing_sides();
  name_processes();
  collect_lines();
  result_.arrows = add_arrows(files_, clocks_, pid_of_, own_);
  add_device_rows();
  write(out);
  return result_;
}

}  // namespace

MergedTrace merge_traces(const std::string& out, const std::vector<std::string>& files) {
  return Merger().merge(out, files);
}

}  // namespace cleave::observe
