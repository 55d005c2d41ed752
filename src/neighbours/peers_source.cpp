#include "neighbours/peers_source.h"

#include <algorithm>

#include "neighbours/registry_folder.h"

namespace cleave::neighbours {
namespace {

constexpr base::Nanoseconds kScanPeriod = std::chrono::seconds(1);

bool shares_a_device(const RegistryEntry::Devices& ours, const cleave_registry_entry& theirs) {
  return std::any_of(ours.begin(), ours.end(), [&](std::uint64_t device) {
    return device != 0 && std::find(std::begin(theirs.devices), std::end(theirs.devices), device) !=
                              std::end(theirs.devices);
  });
}

}  // namespace

void PeersSource::step(base::Nanoseconds now) {
  if (now < next_scan_) return;
  next_scan_ = now + kScanPeriod;
  const RegistryEntry::Devices ours = entry_.devices();
  const auto others = live_entries(entry_.folder(), entry_.file());
  const auto peers = std::count_if(others.begin(), others.end(), [&](const LiveEntry& theirs) {
    return shares_a_device(ours, theirs.entry);
  });
  last_count_ = TimedCount{1 + static_cast<unsigned>(peers), now};
}

}  // namespace cleave::neighbours
