#include "interpose/drivers/devices.h"

#include <algorithm>

#include "base/text/hash.h"
#include "interpose/drivers/driver_probe.h"

namespace cleave::interpose {

Devices::Devices(base::ForkLocks& forks, const Table& next, const base::Settings& settings,
                 ObjectRecords& records)
    : next_(next),
      settings_(settings),
      sub_devices_(records.sub_devices),
      unknown_(std::make_shared<const DeviceFacts>()) {
  forks.add(base::ForkOrder::devices, mutex_);
}

Devices::Facts Devices::find(cl_device_id device) noexcept {
  const base::MutexLock lock(mutex_);
  const auto found = facts_.find(device);
  return found != facts_.end() ? found->second : nullptr;
}

Devices::Facts Devices::ask(cl_device_id device, cl_device_id root) const {
  DeviceFacts facts = query_facts(next_, settings_, device, root);
  facts.driver = name_driver(next_, device);
  facts.driver_id = std::max<std::uint64_t>(base::hash_of(facts.driver), 1);
  return std::make_shared<const DeviceFacts>(std::move(facts));
}

// Concurrent threads query it, too, and find the same.
Devices::Facts Devices::of(cl_device_id device) noexcept try {
  if (device == nullptr) return unknown_;
  if (Facts known = find(device)) return known;
  // The program may have released the parent of a sub-device: nothing is queried of that one.
  const cl_device_id parent = parent_of(next_, device);
  const Facts of_parent = parent != nullptr ? find(parent) : nullptr;
  Facts made = ask(device, of_parent ? of_parent->root : device);
  if (made->platform == nullptr) return made;  // no device
  const base::MutexLock lock(mutex_);
  return facts_.try_emplace(device, std::move(made)).first->second;
} catch (...) {  // out of memory
  return unknown_;
}

void Devices::add_sub_devices(cl_device_id parent, std::span<const cl_device_id> devices) noexcept {
  const Facts of_parent = of(parent);
  for (const cl_device_id device : devices) {
    try {
      Facts made = ask(device, of_parent->root);
      {
        const base::MutexLock lock(mutex_);
        facts_[device] = std::move(made);
      }
      sub_devices_.add(device, {});
    } catch (...) {  // out of memory: no call of our own is made on it
      const base::MutexLock lock(mutex_);
      facts_.erase(device);
    }
  }
}

std::vector<cl_platform_id> Devices::platforms() {
  std::vector<cl_platform_id> all;
  const base::MutexLock lock(mutex_);
  for (const auto& [device, facts] : facts_) {
    if (std::find(all.begin(), all.end(), facts->platform) == all.end()) all.push_back(facts->platform);
  }
  return all;
}

}  // namespace cleave::interpose
