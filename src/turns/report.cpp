#include "turns/report.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <unistd.h>

#include <sys/stat.h>

#include "base/files/file_descriptor.h"
#include "base/files/own_descriptors.h"
#include "base/files/registry_file.h"
#include "turns/shared_file.h"

namespace cleave::turns {
namespace {

// Whether the participant lives. If the system cannot tell, it counts as alive.
bool is_locked(int file, std::uint32_t slot) {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = SharedFile::kSlotLocks + static_cast<off_t>(slot);
  lock.l_len = 1;
  return fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

// As much as there is; the rest stays zero.
bool read_state(int file, State& state) {
  const auto read = [file](void* to, std::size_t size, std::size_t offset) {
    return pread(file, to, size, static_cast<off_t>(offset)) >= 0;
  };
  return read(&state.header, sizeof state.header, 0) &&
         read(state.participants.data(), sizeof state.participants, sizeof state.header) &&
         read(state.totals.data(), sizeof state.totals, SharedFile::kTotals);
}

std::vector<TenantReport> tenants_of(const State& state, const std::vector<ParticipantReport>& participants) {
  std::vector<TenantReport> all;
  for (std::uint32_t i = 0; i < state.header.tenants; ++i) {
    const TenantTotals& t = state.totals[i];
    all.push_back({tenant_name(t), t.processes, t.used, t.turns, t.waited, t.capped, t.imposed});
  }
  for (const ParticipantReport& p : participants) {
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const TenantReport& each) { return each.tenant == p.tenant; });
    if (found == all.end()) found = all.insert(all.end(), TenantReport{.tenant = p.tenant});
    ++found->processes;
    found->used += p.used;
    found->turns += p.turns;
    found->waited = sum_of(found->waited, p.waited);
    found->capped = sum_of(found->capped, p.capped);
    found->imposed = sum_of(found->imposed, p.imposed);
  }
  return all;
}

DeviceReport report_of(int folder, const std::string& name) {
  DeviceReport report;
  report.file = name;
  const auto fail = [&report](FileState state, std::string problem) {
    report.state = state;
    report.problem = std::move(problem);
    return std::move(report);
  };
  const base::FileDescriptor file(
      base::open_own_at(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open()) {
    if (errno == ENOENT) return report;
    return errno == ELOOP ? fail(FileState::foreign, "it is a link")
                          : fail(FileState::unreadable, std::strerror(errno));
  }
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(FileState::foreign, "it is not a plain file");
  const auto state = std::make_unique<State>();
  if (!read_state(file.get(), *state)) return fail(FileState::unreadable, std::strerror(errno));
  const Header& header = state->header;
  const bool is_new = header.magic == 0 && header.version == 0;
  if (!is_new && header.magic != kFileMagic) return fail(FileState::foreign, "it holds something else");
  if (!is_new && header.version != kFileVersion)
    return fail(FileState::other_version, "it is of another version of Cleave");
  report.state = FileState::usable;
  if (is_new) return report;
  const Ns now = monotonic_now();
  sanitize(state->view(), now);
  report.device = device_name(header);
  report.is_declared = is_declared(state->view());
  report.participants = participants_of(state->view(), now);
  std::size_t next = 0;
  for (std::uint32_t slot = 0; slot < header.slots; ++slot) {
    if (!exists(state->view(), slot)) continue;
    ParticipantReport& each = report.participants[next++];
    each.alive = is_locked(file.get(), slot);
    // A participant that ended while it held the device is no longer charged.
    if (!each.alive) each.used = state->participants[slot].used;
  }
  report.tenants = tenants_of(*state, report.participants);
  return report;
}

}  // namespace

std::vector<ParticipantReport> participants_of(const View& state, Ns now) {
  std::vector<ParticipantReport> all;
  const Header& h = state.header;
  for (std::uint32_t slot = 0; slot < h.slots; ++slot) {
    if (!exists(state, slot)) continue;
    const Participant& p = state.participants[slot];
    ParticipantReport report;
    report.id = p.nonce;
    report.pid = p.pid;
    report.weight = p.weight;
    report.tenant = tenant_name(p);
    report.cap = p.cap;
    report.borrows = p.borrows != 0;
    report.capped = p.capped;
    report.imposed = p.imposed;
    report.priority = static_cast<Priority>(p.priority);
    report.holds = h.holder == slot;
    report.waits = p.asks != 0 && !report.holds;
    report.used = p.used;
    report.waited = p.waited;
    report.longest_wait = longest_recent_wait(p, now);
    report.turns = p.turns;
    report.declares = p.declares != 0;
    if (report.holds) {
      report.since = now - h.turn_began;
      const Ns until = h.idle_until != 0 ? std::min(h.idle_until, now) : now;
      report.used += static_cast<std::uint64_t>(std::max<Ns>(until - h.charged_until, 0));
    } else if (report.waits && p.waits_since != 0) {
      report.since = now - p.waits_since;
      report.longest_wait = std::max(report.longest_wait, report.since);
    }
    all.push_back(report);
  }
  return all;
}

DeviceReport read_report(const std::string& folder, const std::string& file) {
  const base::FileDescriptor registry(base::open_registry_folder(folder));
  if (registry.is_open()) return report_of(registry.get(), file);
  DeviceReport report;
  report.file = file;
  return report;
}

std::vector<DeviceReport> read_reports(const std::string& folder) {
  std::vector<DeviceReport> reports;
  const base::FileDescriptor registry(base::open_registry_folder(folder));
  if (!registry.is_open()) return reports;
  for (const std::string& file : base::registry_files(registry.get(), "turns"))
    reports.push_back(report_of(registry.get(), file));
  return reports;
}

}  // namespace cleave::turns
