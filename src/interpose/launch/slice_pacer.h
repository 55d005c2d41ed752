// Waits between the slices of a launch in sequential mode.
//
// Not thread-safe: belongs to one launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "base/clock.h"
#include "base/opencl.h"
#include "interpose/state/records.h"
#include "launch/launch.h"

namespace cleave::interpose {

class SlicePacer final : public launch::Pacer {
 public:
  // `abort_pacing`: may be null; if not 0, another thread waits for the launch to return. Everything must outlive this.
  SlicePacer(const Table& next, base::Clock& clock, RecordMap<QueueRecord>& queues,
             const std::atomic<int>* abort_pacing)
      : next_(next), clock_(clock), queues_(queues), abort_pacing_(abort_pacing) {}

  void flush_upstream(std::span<const cl_event> wait_list) noexcept override;
  launch::WaitResult wait(cl_event command, std::size_t slices) noexcept override;

 private:
  const Table& next_;
  base::Clock& clock_;
  RecordMap<QueueRecord>& queues_;
  const std::atomic<int>* const abort_pacing_;
};

}  // namespace cleave::interpose
