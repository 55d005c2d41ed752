// Facts about each device: queried once, when the program gets it or first uses it, and remembered.
//
// The program may release a sub-device while its queues and programs live on, and a driver may then have freed it. So
// nothing is queried of one later; a call that cannot be avoided is made within a DeviceHold. A handle that a driver
// reuses comes from clCreateSubDevices, where the earlier facts are replaced. Root devices are never freed.
//
// Thread-safe. Does not throw. The lock is not held while a driver is called.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/opencl.h"
#include "base/settings/settings.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/drivers/device_facts.h"
#include "interpose/state/held_handles.h"
#include "interpose/state/records.h"

namespace cleave::interpose {

class Devices {
 public:
  using Facts = std::shared_ptr<const DeviceFacts>;

  // Everything must outlive this.
  Devices(base::ForkLocks& forks, const Table& next, const base::Settings& settings, ObjectRecords& records);

  // Never null. Requires: the program has just used the handle, or it is known, or of a root device.
  Facts of(cl_device_id device) noexcept;

  // The program has received these parts of a device that it has just used.
  void add_sub_devices(cl_device_id parent, std::span<const cl_device_id> devices) noexcept;

  // The platforms of all known devices.
  std::vector<cl_platform_id> platforms();

 private:
  friend class DeviceHold;
  Facts find(cl_device_id device) noexcept;
  [[nodiscard]] Facts ask(cl_device_id device, cl_device_id root) const;

  const Table& next_;
  const base::Settings& settings_;
  RecordMap<HeldRecord>& sub_devices_;
  const Facts unknown_;
  base::Mutex mutex_;
  std::map<cl_device_id, Facts> facts_ CLEAVE_GUARDED_BY(mutex_);
};

// Allows for a call of our own on a device: always on a root device, and on a sub-device while the program has it.
class DeviceHold {
 public:
  DeviceHold(Devices& devices, cl_device_id device) {
    if (devices.of(device)->root != device) hold_.emplace(devices.next_, devices.sub_devices_, device);
  }
  [[nodiscard]] explicit operator bool() const { return !hold_ || *hold_; }

 private:
  std::optional<Hold<cl_device_id>> hold_;
};

// The same for several.
class DeviceHolds {
 public:
  DeviceHolds(Devices& devices, std::span<const cl_device_id> all) {
    for (const cl_device_id each : all) all_held_ = bool(holds_.emplace_back(devices, each)) && all_held_;
  }
  [[nodiscard]] explicit operator bool() const { return all_held_; }

 private:
  std::deque<DeviceHold> holds_;
  bool all_held_ = true;
};

}  // namespace cleave::interpose
