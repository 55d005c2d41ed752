// Holds a launch back while other processes share the device, and measures what it takes.
//
// Not thread-safe: belongs to one launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "base/clock.h"
#include "interpose/launch/feeder.h"
#include "interpose/launch/launch_pacer.h"
#include "interpose/turns/device_turn.h"

namespace cleave::interpose {

class TurnPacer final : public LaunchPacer {
 public:
  // `use` holds the device. `caller`: the call for which the feeder makes the launch, which may return when the driver has accepted the
  // first slice; null if the thread is the program's. Everything must outlive this.
  TurnPacer(Interposer& p, const LaunchPlan& plan, TurnUse& use, Feeder::Caller* caller = nullptr)
      : LaunchPacer(p, plan), use_(use), caller_(caller) {}

  void make_room() override;
  [[nodiscard]] bool wants_event(const Call& call) override;
  // The launch is in flight, so that the device is not passed on before it has ended. It is flushed, with the commands
  // that it waits for, since something may wait for its end before the program flushes it.
  void note_whole(const Call& call, cl_event event) override;

  [[nodiscard]] pthread_t thread() const override { return caller_ ? caller_->thread() : pthread_self(); }
  bool begin(plan::LaunchMethod& method, std::size_t slices, const std::atomic<int>* abort) override;
  void flush_upstream(std::span<const cl_event> wait_list) noexcept override {
    LaunchPacer::flush_upstream(wait_list);
    if (caller_ != nullptr) caller_->may_return();
  }
  std::size_t slices_at_once() noexcept override;
  launch::WaitResult wait(cl_event command, std::size_t slices) noexcept override;
  void note_slices(const Call& call, const launch::LaunchResult& result, cl_event event) override;
  // Without the time in which others had the device. A call whose launch is fed has returned.
  [[nodiscard]] base::Nanoseconds own_part(base::Nanoseconds added) const override {
    return caller_ != nullptr ? base::Nanoseconds(0) : added - others_;
  }

 private:
  [[nodiscard]] TurnCommand whole(const Call& call, cl_event event) const {
    return {.queue = call.queue, .event = event, .expected = plan_.cost.duration, .key = plan_.decision.key};
  }
  [[nodiscard]] std::size_t untimed(std::size_t slices) const;
  void learn(base::Nanoseconds took, std::size_t slices);
  [[nodiscard]] base::Nanoseconds measured() const;

  TurnUse& use_;
  Feeder::Caller* const caller_;
  std::size_t slices_ = 0;
  Room room_ = Room::for_ordered_slices;
  const std::atomic<int>* abort_ = nullptr;
  base::Nanoseconds slice_{0};  // what one is expected to take; 0: nothing is known yet
  // Once the window is full, slices are enqueued as fast as earlier ones end.
  std::size_t slices_of_last_ = 0;
  std::size_t most_at_once_ = 0;
  base::Nanoseconds start_{0};
  std::uint64_t turn_ = 0;
  std::size_t since_turn_ = 0;
  base::Nanoseconds others_{0};  // had the device instead of this launch
  base::Nanoseconds last_{0};
  base::Nanoseconds time_{0};
  std::size_t timed_ = 0;
};

}  // namespace cleave::interpose
