// Measures a run of the program for learn/offload.h: how long it waits for its device, how often it waits for an answer, and how much
// data it moves. The time counts from the first command that is enqueued, or the first call that waits, to the end of a call that
// waits, once for all threads and queues.
//
// Not thread-safe.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/opencl.h"
#include "learn/offload.h"

namespace cleave::interpose {

class RunMeter {
 public:
  // A command is being enqueued at that time.
  void enqueue(base::Nanoseconds now) {
    if (!counting_) start(now);
  }

  // A call that waits for an answer of the device or its server begins, and ends.
  void begin_wait(base::Nanoseconds now) {
    enqueue(now);
    ++waiting_;
    ++traffic_.round_trips;
  }
  void end_wait(base::Nanoseconds now) {
    if (counting_) waited_ += now - since_;
    since_ = now;
    if (waiting_ > 0) --waiting_;
    counting_ = waiting_ > 0;
  }

  void move(std::uint64_t bytes) { traffic_.bytes += bytes; }
  // A command was enqueued on a queue of this device.
  void use(cl_device_id device) {
    uses_several_ = uses_several_ || (device_ != nullptr && device_ != device);
    device_ = device;
  }
  // A call has failed: what was measured tells nothing of the program's next run.
  void fail() { failed_ = true; }

  [[nodiscard]] base::Nanoseconds waited() const { return waited_; }
  [[nodiscard]] const learn::Traffic& traffic() const { return traffic_; }
  // The one device that was used; null if there was none, several, or a failure.
  [[nodiscard]] cl_device_id device() const { return uses_several_ || failed_ ? nullptr : device_; }

 private:
  void start(base::Nanoseconds now) {
    since_ = now;
    counting_ = true;
  }

  learn::Traffic traffic_;
  base::Nanoseconds waited_{0};
  base::Nanoseconds since_{0};
  unsigned waiting_ = 0;  // threads
  bool counting_ = false;
  cl_device_id device_ = nullptr;
  bool uses_several_ = false;
  bool failed_ = false;
};

}  // namespace cleave::interpose
