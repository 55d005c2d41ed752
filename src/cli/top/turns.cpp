#include "cli/top/turns.h"

#include <algorithm>
#include <utility>

namespace cleave::cli {
namespace {

std::string program_of(const turns::ParticipantReport& taker, const std::string& file,
                       const std::vector<RunningProcess>& processes) {
  std::string found;
  for (const RunningProcess& process : processes) {
    const auto& files = process.turn_files;
    if (process.pid != taker.pid || std::find(files.begin(), files.end(), file) == files.end()) continue;
    if (!found.empty() && found != process.program) return {};  // two containers may use the same process ids
    found = process.program;
  }
  return found;
}

}  // namespace

bool SharedDevice::is_shared() const {
  return std::count_if(takers.begin(), takers.end(),
                       [](const TurnTaker& each) { return each.report.alive; }) > 1;
}

std::vector<SharedDevice> shared_devices(const std::string& folder,
                                         const std::vector<RunningProcess>& processes) {
  std::vector<SharedDevice> devices;
  for (turns::DeviceReport& report : turns::read_reports(folder)) {
    SharedDevice device{report.file,       report.device, report.problem, {}, std::move(report.tenants),
                        report.is_declared};
    for (const turns::ParticipantReport& taker : report.participants)
      device.takers.push_back({taker, program_of(taker, report.file, processes)});
    devices.push_back(std::move(device));
  }
  return devices;
}

const char* name(turns::Priority priority) {
  switch (priority) {
    case turns::Priority::high:
      return "high";
    case turns::Priority::background:
      return "background";
    case turns::Priority::idle:
      return "idle";
    case turns::Priority::normal:
      break;
  }
  return "normal";
}

}  // namespace cleave::cli
