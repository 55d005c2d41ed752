#include "monitor/hypervisor/domains.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace cleave::monitor {

std::size_t UuidHash::operator()(const Uuid& uuid) const {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(uuid.data()), uuid.size()});
}

void Domains::event(const Uuid& domain, bool running) {
  if (listing_in_progress_) events_during_listing_[domain] = running;
  if (running) {
    running_.try_emplace(domain);
  } else {
    running_.erase(domain);
  }
}

void Domains::begin_listing() {
  listing_in_progress_ = true;
  events_during_listing_.clear();
}

bool Domains::end_listing(const std::vector<Uuid>& running) {
  std::unordered_map<Uuid, Domain, UuidHash> listed;
  bool differs = false;
  const auto keep = [&](const Uuid& uuid) {
    const auto known = running_.find(uuid);
    if (known == running_.end()) differs = true;
    listed.emplace(uuid, known == running_.end() ? Domain{} : known->second);
  };
  for (const Uuid& uuid : running) {
    if (!events_during_listing_.contains(uuid)) keep(uuid);
  }
  for (const auto& [uuid, runs] : events_during_listing_) {
    if (runs) keep(uuid);
  }
  differs = differs || listed.size() != running_.size();
  running_ = std::move(listed);
  listing_in_progress_ = false;
  events_during_listing_.clear();
  return differs;
}

void Domains::sample(const std::vector<CpuTime>& times, TimePoint now) {
  for (const CpuTime& time : times) {
    const auto found = running_.find(time.domain);
    if (found == running_.end()) continue;
    Domain& domain = found->second;
    const std::chrono::duration<double> passed = now - domain.sampled;
    // Less time than before: the domain was restarted between the two samples.
    const bool comparable = domain.used && *domain.used <= time.used && passed.count() > 0;
    domain.busy = !comparable || std::chrono::duration<double>(time.used - *domain.used).count() >=
                                     busy_share_ * passed.count();
    domain.used = time.used;
    domain.sampled = now;
  }
}

void Domains::clear() {
  running_.clear();
  listing_in_progress_ = false;
  events_during_listing_.clear();
}

Counts Domains::counts() const {
  const auto busy =
      std::count_if(running_.begin(), running_.end(), [](const auto& each) { return each.second.busy; });
  return {static_cast<unsigned>(running_.size()), static_cast<unsigned>(busy)};
}

}  // namespace cleave::monitor
