// Determines by a probe whether a driver can run programs that were built with the prelude (kernels/prelude/prelude.h).
//
// A small kernel with the prelude is built and launched, unsplit and in tagged slices, in a context of its own, and
// writes down everything that it observes. Only drivers with which every value is right get tagged slices.
//
// Thread-safe. Functions may throw std::bad_alloc.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/text/digest.h"

namespace cleave::interpose {

struct ProbeResult {
  bool carries_tags =
      false;  // tagged slices show the whole launch, and untagged launches are as without prelude
  bool carries_volume_tags = false;  // the same for launches that use the third dimension themselves
  bool truncates_offsets = false;    // only 32 bits of an offset reach the kernel, sign-extended

  friend bool operator==(const ProbeResult&, const ProbeResult&) = default;
};

// Runs the probe. Empty if the device was too busy to complete it.
std::optional<ProbeResult> probe_driver(const Table& next, base::Clock& clock, cl_device_id device);

// Of everything that a result depends on besides the driver: the prelude's text and the probe's, and its launches with their
// slices and tags.
base::Digest probe_digest();

// The names and versions of the device and its driver, with the prelude's text: what the result depends on.
std::string name_driver(const Table& next, cl_device_id device);

// Where build logs place the first line of a source after the prelude. `place` is the text before a line number
// ("<kernel>"); `shift` is 0 if the driver follows #line.
struct LogLines {
  std::string place;
  unsigned shift = 0;
};
LogLines find_log_lines(const Table& next, cl_device_id device);

}  // namespace cleave::interpose
