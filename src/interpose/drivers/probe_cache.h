// What drivers do with the prelude: known beforehand (known_drivers.h) or found by the probe (driver_probe.h). Keeps it in
// memory, and what was probed in a file for other processes, by device, driver version and prelude. A sub-device is taken for the
// device that it is a part of, which the program cannot release.
//
// Thread-safe. The first query of a device that is probed takes as long as a small build, later ones a map look-up.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/drivers/devices.h"
#include "interpose/drivers/driver_probe.h"

namespace cleave::interpose {

class ProbeCache {
 public:
  // `folder` keeps results between processes; empty: none does.
  ProbeCache(base::ForkLocks& forks, const Table& next, base::Clock& clock, Devices& devices,
             std::string folder);

  // Probes the driver if nothing is known of it yet. Empty while another thread does, or if the device is too busy.
  std::optional<ProbeResult> facts(cl_device_id of) noexcept;

  // Does not probe.
  std::optional<ProbeResult> known(cl_device_id device) noexcept;

  // `log` with the line numbers of the source without the prelude.
  std::string restore_line_numbers(std::string log, cl_device_id of);

 private:
  std::optional<ProbeResult> look_up(cl_device_id device);
  std::optional<ProbeResult> kept_or_probed(cl_device_id device);
  bool begin(cl_device_id device);
  void end(cl_device_id device, const std::optional<ProbeResult>& found);
  static bool may_need_line_shift(const std::string& log);

  const Table& next_;
  base::Clock& clock_;
  Devices& devices_;
  const std::string folder_;
  // Never held while a driver is called, which may fork or call the program back.
  base::Mutex mutex_;
  std::map<cl_device_id, ProbeResult> results_ CLEAVE_GUARDED_BY(mutex_);
  std::set<cl_device_id> in_flight_ CLEAVE_GUARDED_BY(mutex_);
  std::map<cl_device_id, LogLines> lines_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::interpose
