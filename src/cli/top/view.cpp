#include "cli/top/view.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace cleave::cli {
namespace {

template <typename... Args>
std::string formatted(const char* format, Args... args) {
  const int length = std::snprintf(nullptr, 0, format, args...);
  std::string text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, args...);
  text.pop_back();
  return text;
}

// The rates of a process since the last snapshot; "-" without one.
class Rates {
 public:
  Rates(const Snapshot& look, const Snapshot* before, const RunningProcess& process) {
    if (before == nullptr) return;
    seconds_ = std::chrono::duration<double>(look.at - before->at).count();
    for (const RunningProcess& candidate : before->processes) {
      if (candidate.file == process.file) then_ = &candidate;
    }
  }

  std::string of(const RunningProcess& now, std::uint64_t RunningProcess::*figure) const {
    if (then_ == nullptr || seconds_ <= 0) return "-";
    return formatted("%.1f", more(now, figure) / seconds_);
  }

  // The share of the elapsed time that splitting took.
  std::string share(const RunningProcess& now) const {
    if (then_ == nullptr || seconds_ <= 0) return "-";
    return formatted("%.1f%%", more(now, &RunningProcess::added_ns) / 1e7 / seconds_);
  }

 private:
  double more(const RunningProcess& now, std::uint64_t RunningProcess::*figure) const {
    return now.*figure < then_->*figure ? 0 : static_cast<double>(now.*figure - then_->*figure);
  }

  const RunningProcess* then_ = nullptr;
  double seconds_ = 0;
};

std::string duration(std::uint64_t nanoseconds) {
  const auto ns = static_cast<double>(nanoseconds);
  if (ns < 1e6) return formatted("%.1f us", ns / 1e3);
  if (ns < 1e9) return formatted("%.1f ms", ns / 1e6);
  return formatted("%.2f s", ns / 1e9);
}

std::string heading(const Snapshot& look) {
  const std::string vms = look.vms.empty() ? "unknown number of VMs"
                                           : look.vms + (look.vms == "1" ? " VM" : " VMs") + " on the host";
  const std::size_t count = look.processes.size();
  return "cleave top: " + vms + (look.sources.empty() ? "" : " (" + look.sources + ")") + ", " +
         std::to_string(count) + (count == 1 ? " process" : " processes") + " under Cleave";
}

std::string row(const Snapshot& look, const Snapshot* before, const RunningProcess& process) {
  const Rates rates(look, before, process);
  return formatted("%8u %-16.16s %5u %10" PRIu64 " %9s %10" PRIu64 " %12" PRIu64 " %10s %10" PRIu64
                   " %10s %7s",
                   process.pid, process.program.c_str(), process.vms, process.launches,
                   rates.of(process, &RunningProcess::launches).c_str(), process.split, process.slices,
                   rates.of(process, &RunningProcess::slices).c_str(), process.unsplit,
                   duration(process.added_ns).c_str(), rates.share(process).c_str());
}

// Requires: printable ASCII; see printable() in processes.cpp.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result.push_back('\\');
    result.push_back(static_cast<unsigned char>(c) < ' ' ? '?' : c);
  }
  return result.append("\"");
}

}  // namespace

std::vector<std::string> as_lines(const Snapshot& look, const Snapshot* before, std::size_t width) {
  std::vector<std::string> lines = {heading(look), ""};
  lines.push_back(formatted("%8s %-16s %5s %10s %9s %10s %12s %10s %10s %10s %7s", "pid", "program", "VMs",
                            "launches", "/s", "split", "slices", "/s", "unsplit", "added", "of time"));
  for (const RunningProcess& process : look.processes) lines.push_back(row(look, before, process));
  for (std::string& line : lines) {
    if (width != 0 && line.size() > width) line.resize(width);
  }
  return lines;
}

std::string as_json(const Snapshot& look) {
  std::string text = "{\"version\":1,\"vms\":" + (look.vms.empty() ? std::string("null") : look.vms) +
                     ",\"neighbours\":" + quoted(look.sources) + ",\"processes\":[";
  for (const RunningProcess& process : look.processes) {
    text += formatted("%s{\"pid\":%u,\"program\":%s,\"started\":%" PRIu64 ",\"vms\":%u,\"devices\":%u,",
                      text.back() == '[' ? "" : ",", process.pid, quoted(process.program).c_str(),
                      process.started, process.vms, process.devices);
    text += formatted("\"launches\":%" PRIu64 ",\"split\":%" PRIu64 ",\"slices\":%" PRIu64
                      ",\"unsplit\":%" PRIu64 ",\"added_ns\":%" PRIu64 "}",
                      process.launches, process.split, process.slices, process.unsplit, process.added_ns);
  }
  return text + "]}\n";
}

}  // namespace cleave::cli
