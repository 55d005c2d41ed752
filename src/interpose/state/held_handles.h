// Calls of our own on contexts and sub-devices, which the program may release at any time.
//
// A driver may free such an object with the program's last reference, even while queues or programs use it. So what we
// need to know about one is queried when the program gets it (drivers/devices.h), and a call that has to be made later
// is made within a hold: it exists only while the program has a reference, and defers the release of the last one.
//
// Thread-safe. The destructor may call the driver.
#pragma once

#include "base/opencl.h"
#include "interpose/state/record_map.h"

namespace cleave::interpose {

// The program has this object.
struct HeldRecord {};

// For the driver's last reference, which was left to us. Sub-devices of OpenCL 1.1 come from an extension.
inline void release_last(const Table& next, cl_context context) noexcept { next.clReleaseContext(context); }
inline void release_last(const Table& next, cl_device_id device) noexcept {
  (next.clReleaseDevice != nullptr ? next.clReleaseDevice : next.clReleaseDeviceEXT)(device);
}

template <typename Handle>
class Hold {
 public:
  Hold(const Table& next, RecordMap<HeldRecord>& records, Handle handle)
      : next_(next), records_(records), handle_(handle), held_(records.pin(handle)) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    if (held_ && records_.unpin(handle_)) release_last(next_, handle_);
  }

  // Whether the program has a reference to it.
  [[nodiscard]] explicit operator bool() const { return held_; }

 private:
  const Table& next_;
  RecordMap<HeldRecord>& records_;
  const Handle handle_;
  const bool held_;
};

}  // namespace cleave::interpose
