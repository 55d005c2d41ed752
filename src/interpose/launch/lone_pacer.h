// Holds the slices of a launch back in sequential mode, where no other process is known to want the device, and measures launches for
// the policies that need it.
//
// Not thread-safe: belongs to one launch.
#pragma once

#include <atomic>
#include <cstddef>

#include "interpose/launch/launch_pacer.h"

namespace cleave::interpose {

// After so many launches in a row whose pacing was given up, those of a queue are not paced.
inline constexpr unsigned kMaxPacingStalls = 3;

class LonePacer final : public LaunchPacer {
 public:
  LonePacer(Interposer& p, const LaunchPlan& plan) : LaunchPacer(p, plan) {}

  void note_whole(const Call& call, cl_event event) override;
  bool begin(plan::LaunchMethod& method, std::size_t slices, const std::atomic<int>* abort) override;
  launch::WaitResult wait(cl_event command, std::size_t slices) noexcept override;
  void note_slices(const Call& call, const launch::LaunchResult& result, cl_event event) override;

 private:
  void measure(const Call& call, std::size_t slices, cl_event event);

  const std::atomic<int>* abort_ = nullptr;
  bool is_sequential_ = false;
};

}  // namespace cleave::interpose
