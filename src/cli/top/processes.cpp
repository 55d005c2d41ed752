#include "cli/top/processes.h"

#include <algorithm>
#include <tuple>

#include "base/text/display_text.h"
#include "limits/memory_ledger.h"
#include "neighbours/registry_folder.h"
#include "turns/shared_file.h"

namespace cleave::cli {
namespace {

RunningProcess process_of(const neighbours::LiveEntry& live) {
  const cleave_registry_entry& entry = live.entry;
  RunningProcess process;
  process.file = live.file;
  process.pid = entry.pid;
  process.program = base::displayable_ascii(entry.program);
  process.vms = entry.vms;
  for (const std::uint64_t device : entry.devices) {
    if (device == 0) continue;
    process.turn_files.push_back(turns::SharedFile::name_for(std::to_string(device)));
    process.memory_files.push_back(limits::MemoryLedger::name_for(std::to_string(device)));
  }
  process.user = live.user;
  process.devices = static_cast<unsigned>(process.turn_files.size());
  process.started = entry.started;
  process.unsplit = cleave_registry_unsplit(&entry);
  process.launches = entry.split + process.unsplit;
  process.split = entry.split;
  process.slices = entry.slices;
  process.added_ns = entry.added_ns;
  return process;
}

}  // namespace

std::vector<RunningProcess> running_processes(const std::string& folder) {
  std::vector<RunningProcess> processes;
  for (const neighbours::LiveEntry& live : neighbours::live_entries(folder))
    processes.push_back(process_of(live));
  std::sort(processes.begin(), processes.end(), [](const RunningProcess& a, const RunningProcess& b) {
    return std::tie(a.pid, a.file) < std::tie(b.pid, b.file);
  });
  return processes;
}

}  // namespace cleave::cli
