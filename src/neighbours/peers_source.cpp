#include "neighbours/peers_source.h"

#include <algorithm>
#include <map>
#include <unistd.h>
#include <utility>

#include "neighbours/registry_folder.h"

namespace cleave::neighbours {
namespace {

constexpr base::Nanoseconds kScanPeriod = std::chrono::seconds(1);
constexpr base::Nanoseconds kUntilFirstCount = std::chrono::milliseconds(10);
constexpr int kMaxShare = 200;  // scans take at most this part of the time

bool shares_a_device(const RegistryEntry::Devices& ours, const cleave_registry_entry& theirs) {
  return std::any_of(ours.begin(), ours.end(), [&](std::uint64_t device) {
    return device != 0 && std::find(std::begin(theirs.devices), std::end(theirs.devices), device) !=
                              std::end(theirs.devices);
  });
}

}  // namespace

// One that comes no more gets out of date.
void PeersSource::take_count(std::uint64_t by_other, base::Nanoseconds now) {
  next_scan_ = now + (by_other != 0 ? kScanPeriod : kUntilFirstCount);
  if (std::exchange(by_other_, by_other) == by_other) return;
  last_count_ = TimedCount{std::max(static_cast<std::uint32_t>(by_other), 1U), now};
}

void PeersSource::step(base::Nanoseconds now) {
  if (now < next_scan_) return;
  if (const auto by_other = entry_.peers_by_other()) return take_count(*by_other, now);
  const base::Nanoseconds begin = base::Clock::system().now();
  const RegistryEntry::Devices ours = entry_.devices();
  std::map<uid_t, unsigned> users;
  for (const LiveEntry& theirs : live_entries(entry_.folder(), entry_.file())) {
    if (shares_a_device(ours, theirs.entry)) ++users[theirs.user];
  }
  unsigned peers = 0;
  for (const auto& [user, count] : users)
    peers += user == geteuid() || user == 0 ? count : std::min(count, kMaxOfOtherUser);
  last_count_ = TimedCount{1 + peers, now};
  // A flooded folder is scanned less often, so that it costs readers little.
  const base::Nanoseconds taken = base::Clock::system().now() - begin;
  next_scan_ = now + std::max(kScanPeriod, taken * kMaxShare);
}

}  // namespace cleave::neighbours
