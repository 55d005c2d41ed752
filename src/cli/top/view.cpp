#include "cli/top/view.h"

#include <algorithm>
#include <cinttypes>

#include "base/format.h"
#include "base/json.h"

namespace cleave::cli {
namespace {

using base::formatted;

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

std::string heading(const Snapshot& look) {
  const std::string vms = look.vms.empty() ? "unknown number of VMs"
                                           : look.vms + (look.vms == "1" ? " VM" : " VMs") + " on the host";
  const std::size_t count = look.processes.size();
  return "cleave top: " + vms + (look.sources.empty() ? "" : " (" + look.sources + ")") + ", " +
         std::to_string(count) + (count == 1 ? " process" : " processes") + " under Cleave";
}

std::string row(const Snapshot& look, const Snapshot* before, const RunningProcess& process) {
  const Rates rates(look, before, process);
  const base::Nanoseconds added(static_cast<std::int64_t>(process.added_ns));
  return formatted("%8u %-16.16s %5u %10" PRIu64 " %9s %10" PRIu64 " %12" PRIu64 " %10s %10" PRIu64
                   " %10s %7s",
                   process.pid, process.program.c_str(), process.vms, process.launches,
                   rates.of(process, &RunningProcess::launches).c_str(), process.split, process.slices,
                   rates.of(process, &RunningProcess::slices).c_str(), process.unsplit,
                   base::as_text(added).c_str(), rates.share(process).c_str());
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
  base::JsonList processes;
  for (const RunningProcess& process : look.processes) {
    processes.add_json(base::JsonObject()
                           .add("pid", process.pid)
                           .add("program", process.program)
                           .add("started", process.started)
                           .add("vms", process.vms)
                           .add("devices", process.devices)
                           .add("launches", process.launches)
                           .add("split", process.split)
                           .add("slices", process.slices)
                           .add("unsplit", process.unsplit)
                           .add("added_ns", process.added_ns)
                           .text());
  }
  return base::JsonObject()
             .add("version", 1)
             .add_json("vms", look.vms.empty() ? "null" : look.vms)
             .add("neighbours", look.sources)
             .add_json("processes", processes.text())
             .text() +
         "\n";
}

}  // namespace cleave::cli
