// Whether a driver can run programs that were built with the prelude (kernels/prelude.h): determined by a probe.
//
// A small kernel with the prelude is built and launched, unsplit and in tagged slices, in a context of its own, and
// writes down everything that it observes. Only drivers with which every value is right get tagged slices. Results are
// kept in memory, and in a file for other processes, by device, driver version and prelude.
//
// Thread-safe. The first query of a device takes as long as a small build, later ones a map look-up.
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
      false;  // tagged slices show the whole launch, and untagged launches are as without prelude
  bool truncates_offsets = false;  // only 32 bits of an offset reach the kernel, sign-extended
};

// Runs the probe. Empty if the device was too busy to complete it.
std::optional<ProbeResult> probe_driver(const Table& next, base::Clock& clock, cl_device_id device);

// The names and versions of the device and its driver, with the prelude's text: what the result depends on.
std::string name_driver(const Table& next, cl_device_id device);

// Where build logs place the first line of a source after the prelude. `place` is the text before a line number
// ("<kernel>"); `shift` is 0 if the driver follows #line.
struct LogLines {
  std::string place;
  unsigned shift = 0;
};
LogLines find_log_lines(const Table& next, cl_device_id device);

class ProbeCache {
 public:
  // `folder` keeps results between processes; empty: none does.
  ProbeCache(const Table& next, base::Clock& clock, std::string folder);

  // Probes the driver if nothing is known yet. Empty while another thread does, or if the device is too busy.
  std::optional<ProbeResult> facts(cl_device_id device) noexcept;

  // Does not probe.
  std::optional<ProbeResult> known(cl_device_id device) noexcept;

  // `log` with the line numbers of the source without the prelude.
  std::string restore_line_numbers(std::string log, cl_device_id device);

  // For fork(). Never held while a driver is called, which may fork or call the program back.
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
