#include "cli/top/live/scene.h"

#include <algorithm>
#include <set>
#include <utility>

namespace cleave::cli {
namespace {

// A process that takes turns, or has memory booked, in the registry. Null if it is not there, or two have its number, as
// those of two containers may.
const RunningProcess* registered(const std::vector<RunningProcess>& processes, unsigned pid,
                                 const std::vector<std::string> RunningProcess::*files,
                                 const std::string& file) {
  const RunningProcess* found = nullptr;
  for (const RunningProcess& each : processes) {
    const auto& its = each.*files;
    if (each.pid != pid || std::find(its.begin(), its.end(), file) == its.end()) continue;
    if (found != nullptr) return nullptr;
    found = &each;
  }
  return found;
}

// The device's other file. Empty if no process in the registry uses the device.
std::string memory_file_of(const std::vector<RunningProcess>& processes, const std::string& turn_file) {
  for (const RunningProcess& each : processes) {
    const auto at = std::find(each.turn_files.begin(), each.turn_files.end(), turn_file);
    if (at != each.turn_files.end())
      return each.memory_files[static_cast<std::size_t>(at - each.turn_files.begin())];
  }
  return {};
}

// The entry of a process on a device, if there is one alone that may be it. `tenant`: null if that is not known.
const limits::LedgerReport* ledger_of(const TopLook& look, const std::string& file, unsigned pid,
                                      const std::string* tenant) {
  const limits::LedgerReport* found = nullptr;
  for (const limits::LedgerReport& each : look.ledgers) {
    if (each.file != file || each.pid != pid || (tenant != nullptr && each.tenant != *tenant)) continue;
    if (found != nullptr) return nullptr;
    found = &each;
  }
  return found;
}

void add_registered(TopRow& row, const TopLook& look, const RunningProcess& process) {
  row.launches = process.launches;
  row.command = process.program;
  const auto names = look.names.find(process.file);
  if (names == look.names.end()) return;
  row.user = names->second.user;
  if (!names->second.command.empty()) row.command = names->second.command;
}

char state_of(const turns::ParticipantReport& taker) {
  if (taker.holds) return 'H';
  return taker.waits ? 'W' : 'R';
}

std::uint64_t positive(turns::Ns time) { return time > 0 ? static_cast<std::uint64_t>(time) : 0; }

// Including the present wait, which is added to the total only when it is over.
std::uint64_t waited_until_now(const turns::ParticipantReport& taker) {
  return positive(taker.waited) + (taker.waits ? positive(taker.since) : 0);
}

template <typename Value>
void add_known(std::optional<Value>& sum, const std::optional<Value>& more) {
  if (more) sum = sum.value_or(0) + *more;
}

std::string tenant_key(const std::string& file, const std::string& tenant) { return file + "/t" + tenant; }

// Whether there is anything on the device to be shown.
bool is_in_use(const SharedDevice& device) {
  const auto lives = [](const TurnTaker& each) { return each.report.alive; };
  return !device.problem.empty() || std::any_of(device.takers.begin(), device.takers.end(), lives);
}

// The files that stand for the devices in use: of turns, or of memory where the registry does not connect the two.
std::vector<std::string> files_in_use(const TopLook& look) {
  std::set<std::string> files;
  std::set<std::string> memory_files;
  for (const RunningProcess& each : look.snapshot.processes) {
    files.insert(each.turn_files.begin(), each.turn_files.end());
    memory_files.insert(each.memory_files.begin(), each.memory_files.end());
  }
  for (const SharedDevice& each : look.snapshot.devices) {
    if (is_in_use(each)) files.insert(each.file);
  }
  for (const limits::LedgerReport& each : look.ledgers) {
    if (memory_files.count(each.file) == 0) files.insert(each.file);
  }
  return {files.begin(), files.end()};
}

}  // namespace

std::size_t SceneBuilder::number_of(const std::string& file) {
  return numbers_.emplace(file, numbers_.size()).first->second;
}

SceneBuilder::Rates SceneBuilder::rates(const std::string& key, Totals now) {
  now_[key] = now;
  const auto then = before_.find(key);
  if (then == before_.end() || elapsed_ <= 0) return {};
  const auto more = [this](std::uint64_t from, std::uint64_t to) {
    return to < from ? 0 : static_cast<double>(to - from) / elapsed_;
  };
  return {std::min(more(then->second.used, now.used), 1.0), more(then->second.waited, now.waited)};
}

Shares SceneBuilder::remember(const std::string& key, const std::optional<double>& share) {
  return share ? histories_.add(key, *share) : histories_.of(key);
}

void SceneBuilder::add_takers(TopScene& scene, const TopLook& look, const SharedDevice& device,
                              std::size_t number) {
  const std::string memory_file = memory_file_of(look.snapshot.processes, device.file);
  for (const TurnTaker& taker : device.takers) {
    const turns::ParticipantReport& is = taker.report;
    if (!is.alive) continue;
    TopRow row;
    row.key = device.file + "/p" + std::to_string(is.id);
    row.pid = is.pid;
    row.tenant = is.tenant;
    row.device = number;
    row.priority = name(is.priority);
    row.weight = is.weight;
    row.cap = is.cap;
    row.borrows = is.borrows;
    row.state = state_of(is);
    row.used = is.used;
    row.waited = waited_until_now(is);
    if (const auto* process =
            registered(look.snapshot.processes, is.pid, &RunningProcess::turn_files, device.file))
      add_registered(row, look, *process);
    if (const auto* ledger = ledger_of(look, memory_file, is.pid, &is.tenant)) row.memory = ledger->bytes;
    const Rates rate = rates(row.key, {*row.used, *row.waited});
    row.share = rate.share;
    row.waiting = rate.waiting ? std::optional(std::min(*rate.waiting, 1.0)) : std::nullopt;
    row.history = remember(row.key, row.share);
    scene.processes.push_back(std::move(row));
  }
}

// Processes that use the device and take no turns on it, or have memory there alone. Those that take turns are there already.
void SceneBuilder::add_others(TopScene& scene, const TopLook& look, const std::string& file,
                              std::size_t number) {
  const std::string other = memory_file_of(look.snapshot.processes, file);
  const std::string& memory_file = other.empty() ? file : other;
  const auto is_there = [&](unsigned pid) {
    return std::any_of(scene.processes.begin(), scene.processes.end(),
                       [&](const TopRow& each) { return each.pid == pid && each.device == number; });
  };
  for (const RunningProcess& process : look.snapshot.processes) {
    const auto& files = process.turn_files;
    if (std::find(files.begin(), files.end(), file) == files.end() || is_there(process.pid)) continue;
    TopRow row;
    row.key = file + "/r" + process.file;
    row.pid = process.pid;
    row.device = number;
    add_registered(row, look, process);
    if (const auto* ledger = ledger_of(look, memory_file, process.pid, nullptr)) {
      row.memory = ledger->bytes;
      row.tenant = ledger->tenant;
    }
    scene.processes.push_back(std::move(row));
  }
  for (const limits::LedgerReport& ledger : look.ledgers) {
    if (ledger.file != memory_file || is_there(ledger.pid)) continue;
    TopRow row;
    row.key = file + "/m" + std::to_string(ledger.pid);
    row.pid = ledger.pid;
    row.device = number;
    row.tenant = ledger.tenant;
    row.memory = ledger.bytes;
    scene.processes.push_back(std::move(row));
  }
}

void SceneBuilder::add_tenants(TopScene& scene, const SharedDevice& device, const std::string& file,
                               std::size_t number) {
  std::map<std::string, TopRow> rows;
  const auto row_of = [&](const std::string& tenant) -> TopRow& {
    TopRow& row = rows[tenant];
    if (!row.key.empty()) return row;
    row.key = tenant_key(file, tenant);
    row.tenant = tenant;
    row.device = number;
    row.processes = 0;
    return row;
  };
  std::map<std::string, std::uint64_t> waits;  // that last
  for (const TurnTaker& each : device.takers) {
    if (each.report.alive && each.report.waits) waits[each.report.tenant] += positive(each.report.since);
  }
  for (const turns::TenantReport& each : device.tenants) {
    TopRow& row = row_of(each.tenant);
    row.used = each.used;
    row.waited = positive(each.waited) + waits[each.tenant];
    const Rates rate = rates(row.key, {*row.used, *row.waited});
    row.share = rate.share;
    row.waiting = rate.waiting;
    row.history = remember(row.key, row.share);
  }
  for (const TopRow& process : scene.processes) {
    if (process.device != number) continue;
    TopRow& row = row_of(process.tenant);
    // Its processes should have the same; where they differ, the largest.
    row.weight = std::max(row.weight, process.weight);
    if (process.cap > row.cap) row.borrows = process.borrows;
    row.cap = std::max(row.cap, process.cap);
    add_known(row.memory, process.memory);
    ++row.processes;
  }
  for (auto& [tenant, row] : rows) scene.tenants.push_back(std::move(row));
}

TopDevice SceneBuilder::device_line(const TopScene& scene, const TopLook& look, const SharedDevice& device,
                                    const std::string& file, std::size_t number) {
  TopDevice line;
  line.number = number;
  line.name = file;
  const std::string other = memory_file_of(look.snapshot.processes, file);
  for (const limits::LedgerReport& each : look.ledgers) {
    if (!each.device.empty() && (each.file == file || each.file == other)) line.name = each.device;
  }
  if (!device.device.empty()) line.name = device.device;
  line.problem = device.problem;
  for (const TurnTaker& taker : device.takers) {
    if (taker.report.alive && taker.report.waits) ++line.waiting;
    if (!taker.report.holds) continue;
    line.holder = std::to_string(taker.report.pid) + (taker.program.empty() ? "" : " " + taker.program);
    line.held_for = taker.report.since;
  }
  Totals all;
  for (const turns::TenantReport& each : device.tenants) all.used += each.used;
  if (!device.tenants.empty()) line.share = rates(file, all).share;
  for (const TopRow& row : scene.processes) {
    if (row.device == number) add_known(line.memory, row.memory);
  }
  line.history = remember(file, line.share);
  return line;
}

TopScene SceneBuilder::take(const TopLook& look) {
  const Snapshot& is = look.snapshot;
  elapsed_ = looked_before_ ? std::chrono::duration<double, std::nano>(is.at - *looked_before_).count() : 0.0;
  looked_before_ = is.at;
  before_ = std::exchange(now_, {});
  TopScene scene;
  scene.heading = heading(is);
  static const SharedDevice kNotShared{};
  for (const std::string& file : files_in_use(look)) {
    const auto found = std::find_if(is.devices.begin(), is.devices.end(),
                                    [&](const SharedDevice& each) { return each.file == file; });
    const SharedDevice& device = found == is.devices.end() ? kNotShared : *found;
    const std::size_t number = number_of(file);
    add_takers(scene, look, device, number);
    add_others(scene, look, file, number);
    add_tenants(scene, device, file, number);
    scene.devices.push_back(device_line(scene, look, device, file, number));
  }
  for (const RunningProcess& process : is.processes) {
    if (!process.turn_files.empty()) continue;
    TopRow row;
    row.key = process.file;
    row.pid = process.pid;
    add_registered(row, look, process);
    scene.processes.push_back(std::move(row));
  }
  std::sort(scene.devices.begin(), scene.devices.end(),
            [](const TopDevice& a, const TopDevice& b) { return a.number < b.number; });
  histories_.end_look();
  return scene;
}

}  // namespace cleave::cli
