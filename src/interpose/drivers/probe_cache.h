// What drivers do with programs that were built with the prelude (kernels/prelude.h), found out by trying.
//
// A small kernel with the prelude is built and launched, whole and in tagged slices, in a context of its own;
// it writes down all that it sees. Only a driver with which every value is right gets tagged slices. The
// answer is kept in memory, and in a file for other processes, per device, driver version and prelude.
//
// Thread-safe. The first question about a device takes as long as a small build, later ones a look into a
// map.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/opencl.h"

namespace cleave::interpose {

struct ProbeResult {
  bool carries_tags =
      false;  // kernels see the whole launch in tagged slices, and nothing else in whole launches
  bool truncates_offsets = false;  // only 32 bits of an offset reach the kernel, and their sign is extended
};

// Tries it out. Empty if the device was too busy to tell.
std::optional<ProbeResult> probe_driver(const Table& next, base::Clock& clock, cl_device_id device);

// What the device and its driver are called, with a mark for the prelude: what the facts depend on.
std::string name_driver(const Table& next, cl_device_id device);

// Where a driver's build log puts a source's first line behind the prelude. `place` is what stands in front
// of a line number there ("<kernel>"); `shift` is 0 where the log follows #line.
struct LogLines {
  std::string place;
  unsigned shift = 0;
};
LogLines find_log_lines(const Table& next, cl_device_id device);

class ProbeCache {
 public:
  // `folder` keeps answers between processes; empty: none does.
  ProbeCache(const Table& next, base::Clock& clock, std::string folder);

  // Tries the driver out where nothing is known yet. Empty while another thread does, or if the device is too
  // busy.
  std::optional<ProbeResult> facts(cl_device_id device) noexcept;

  // Only what is known already.
  std::optional<ProbeResult> known(cl_device_id device) noexcept;

  // `log` with its line numbers as they would be without the prelude.
  std::string restore_line_numbers(std::string log, cl_device_id device);

  // For fork(): nobody is inside meanwhile. Never held while a driver is called: it may fork, or call the
  // program back.
  std::mutex& lock() { return mutex_; }

 private:
  std::optional<ProbeResult> look_up(cl_device_id device);
  bool begin(cl_device_id device);
  void end(cl_device_id device, const std::optional<ProbeResult>& found);
  static bool may_need_line_shift(const std::string& log);

  const Table& next_;
  base::Clock& clock_;
  const std::string folder_;
  std::mutex mutex_;
  std::map<cl_device_id, ProbeResult> facts_;
  std::set<cl_device_id> in_flight_;
  std::map<cl_device_id, LogLines> lines_;
};

}  // namespace cleave::interpose
