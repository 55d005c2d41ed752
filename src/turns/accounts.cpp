#include "turns/accounts.h"

#include "turns/shared_file.h"

namespace cleave::turns {
namespace {

TenantReport report_of_totals(const TenantTotals& t) {
  return {tenant_name(t), t.processes, t.used, t.turns, t.waited, t.capped, t.imposed};
}

// What a process that has ended has had would go to its tenant's totals with somebody's next step.
void settle(const View& state, const SharedFile& file, std::uint32_t slot, std::vector<TenantReport>& taken) {
  Participant& p = state.participants[slot];
  if (p.used == 0 && p.turns == 0) return;
  if (file.is_alive(slot)) return;
  taken.push_back({tenant_name(p), 1, p.used, p.turns, p.waited, p.capped, p.imposed});
  p.used = p.turns = 0;
  p.waited = p.capped = p.imposed = 0;
}

std::vector<TenantReport> take_from(SharedFile& file, std::string_view prefix) {
  std::vector<TenantReport> taken;
  const bool is_stored = file.update([&](View state, Ns /*now*/) {
    taken.clear();
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < state.header.tenants; ++i) {
      const TenantTotals totals = state.totals[i];
      if (tenant_name(totals).starts_with(prefix)) {
        taken.push_back(report_of_totals(totals));
      } else {
        state.totals[kept++] = totals;
      }
    }
    state.header.tenants = kept;
    for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
      const bool is_meant = exists(state, slot) && tenant_name(state.participants[slot]).starts_with(prefix);
      if (is_meant) settle(state, file, slot, taken);
    }
  });
  if (!is_stored) taken.clear();
  return taken;
}

}  // namespace

std::vector<TenantReport> take_tenants(const std::string& folder, std::string_view prefix) {
  std::vector<TenantReport> all;
  for (const DeviceReport& device : read_reports(folder)) {
    if (device.state != FileState::usable) continue;
    std::string ignored;
    const std::shared_ptr<SharedFile> file = SharedFile::open_file(folder, device.file, ignored);
    if (!file) continue;
    for (TenantReport& each : take_from(*file, prefix)) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace cleave::turns
