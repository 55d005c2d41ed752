#include "cli/top/view.h"

#include <algorithm>
#include <cinttypes>
#include <ctime>
#include <optional>

#include "base/text/format.h"
#include "base/text/json.h"

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

// The figures of a participant since the last snapshot.
class TurnRates {
 public:
  TurnRates(const Snapshot& look, const Snapshot* before, const SharedDevice& device,
            const turns::ParticipantReport& now)
      : now_(now) {
    if (before == nullptr) return;
    nanoseconds_ = std::chrono::duration<double, std::nano>(look.at - before->at).count();
    for (const SharedDevice& candidate : before->devices) {
      if (candidate.file != device.file) continue;
      for (const TurnTaker& taker : candidate.takers) {
        if (taker.report.id == now.id) then_ = &taker.report;
      }
    }
  }

  // Of the device's time, from 0 to 1.
  [[nodiscard]] std::optional<double> share() const {
    if (then_ == nullptr || nanoseconds_ <= 0) return std::nullopt;
    const double used = now_.used < then_->used ? 0 : static_cast<double>(now_.used - then_->used);
    return std::min(used / nanoseconds_, 1.0);
  }

 private:
  const turns::ParticipantReport& now_;
  const turns::ParticipantReport* then_ = nullptr;
  double nanoseconds_ = 0;
};

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

std::string time_text(turns::Ns time) { return base::as_text(base::Nanoseconds(time)); }

const char* standing(const turns::ParticipantReport& taker) {
  if (!taker.alive) return "ended";
  if (taker.holds) return "holds";
  return taker.waits ? "waits" : "rests";
}

std::string heading(const SharedDevice& device) {
  std::string text =
      "turns on " + (device.device.empty() ? "a device" : device.device) + " (" + device.file + ")";
  if (!device.problem.empty()) return text + ": " + device.problem;
  std::size_t waiting = 0;
  std::string holder = "held by nobody";
  for (const TurnTaker& taker : device.takers) {
    if (taker.report.waits && taker.report.alive) ++waiting;
    if (taker.report.holds)
      holder = "held by " + std::to_string(taker.report.pid) + " for " + time_text(taker.report.since);
  }
  return text + ": " + holder + ", " + std::to_string(waiting) + (waiting == 1 ? " waits" : " wait") +
         (device.is_declared ? "" : ", without turns: nobody has declared a weight, a class or a cap");
}

std::string row(const Snapshot& look, const Snapshot* before, const SharedDevice& device,
                const TurnTaker& taker) {
  const turns::ParticipantReport& is = taker.report;
  const auto share = TurnRates(look, before, device, is).share();
  const bool lasts = is.alive && (is.holds || is.waits);
  return formatted("%8u %-16.16s %-10s %6u %7s %10" PRIu64 " %10s %10s  %s", is.pid,
                   taker.program.empty() ? "-" : taker.program.c_str(), name(is.priority), is.weight,
                   share ? formatted("%.1f%%", *share * 100).c_str() : "-", is.turns,
                   time_text(is.waited).c_str(), time_text(is.longest_wait).c_str(),
                   lasts ? (standing(is) + (" for " + time_text(is.since))).c_str() : standing(is));
}

// Files with nothing to report are left out.
void add_turns(std::vector<std::string>& lines, const Snapshot& look, const Snapshot* before) {
  for (const SharedDevice& device : look.devices) {
    if (device.takers.empty() && device.problem.empty()) continue;
    lines.insert(lines.end(), {"", heading(device)});
    if (device.takers.empty()) continue;
    lines.push_back(formatted("%8s %-16s %-10s %6s %7s %10s %10s %10s  %s", "pid", "program", "class",
                              "weight", "share", "turns", "waited", "longest", "now"));
    for (const TurnTaker& taker : device.takers) lines.push_back(row(look, before, device, taker));
  }
}

std::string json_of(const Snapshot& look, const Snapshot* before, const SharedDevice& device) {
  base::JsonList participants;
  for (const TurnTaker& taker : device.takers) {
    const turns::ParticipantReport& is = taker.report;
    const auto share = TurnRates(look, before, device, is).share();
    participants.add_json(base::JsonObject()
                              .add("pid", is.pid)
                              .add("program", taker.program)
                              .add("class", name(is.priority))
                              .add("weight", is.weight)
                              .add("state", standing(is))
                              .add("since_ns", is.since)
                              .add_json("share", share ? formatted("%.4f", *share) : "null")
                              .add("used_ns", is.used)
                              .add("turns", is.turns)
                              .add("waited_ns", is.waited)
                              .add("longest_wait_ns", is.longest_wait)
                              .add("tenant", is.tenant)
                              .add_json("cap", formatted("%.3f", is.cap / 1000.0))
                              .add_json("borrows", is.borrows ? "true" : "false")
                              .add_json("declares", is.declares ? "true" : "false")
                              .add("capped_ns", is.capped)
                              .add("imposed_ns", is.imposed)
                              .text());
  }
  base::JsonList tenants;
  for (const turns::TenantReport& each : device.tenants) {
    tenants.add_json(base::JsonObject()
                         .add("tenant", each.tenant)
                         .add("processes", each.processes)
                         .add("used_ns", each.used)
                         .add("turns", each.turns)
                         .add("waited_ns", each.waited)
                         .add("capped_ns", each.capped)
                         .add("imposed_ns", each.imposed)
                         .text());
  }
  return base::JsonObject()
      .add("file", device.file)
      .add("device", device.device)
      .add("problem", device.problem)
      .add_json("declared", device.is_declared ? "true" : "false")
      .add_json("participants", participants.text())
      .add_json("tenants", tenants.text())
      .text();
}

}  // namespace

std::string heading(const Snapshot& look) {
  const std::string vms = look.vms.empty() ? "unknown number of VMs"
                                           : look.vms + (look.vms == "1" ? " VM" : " VMs") + " on the host";
  const std::size_t count = look.processes.size();
  return "cleave top: " + vms + (look.sources.empty() ? "" : " (" + look.sources + ")") + ", " +
         std::to_string(count) + (count == 1 ? " process" : " processes") + " under Cleave";
}

std::vector<std::string> as_lines(const Snapshot& look, const Snapshot* before, std::size_t width) {
  std::vector<std::string> lines = {heading(look), ""};
  lines.push_back(formatted("%8s %-16s %5s %10s %9s %10s %12s %10s %10s %10s %7s", "pid", "program", "VMs",
                            "launches", "/s", "split", "slices", "/s", "unsplit", "added", "of time"));
  for (const RunningProcess& process : look.processes) lines.push_back(row(look, before, process));
  add_turns(lines, look, before);
  for (std::string& line : lines) {
    if (width != 0 && line.size() > width) line.resize(width);
  }
  return lines;
}

std::string as_json(const Snapshot& look, const Snapshot* before) {
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
  base::JsonList devices;
  for (const SharedDevice& device : look.devices) devices.add_json(json_of(look, before, device));
  return base::JsonObject()
             .add("version", 1)
             .add("time", std::time(nullptr))
             .add_json("vms", look.vms.empty() ? "null" : look.vms)
             .add("neighbours", look.sources)
             .add_json("processes", processes.text())
             .add_json("devices", devices.text())
             .text() +
         "\n";
}

}  // namespace cleave::cli
