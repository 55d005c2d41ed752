// Holds the slices of a launch back while other processes share the device, and measures what they take.
//
// Not thread-safe: belongs to one launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "base/clock.h"
#include "interpose/launch/feeder.h"
#include "interpose/launch/slice_pacer.h"
#include "interpose/turns/device_turn.h"
#include "launch/launch.h"

namespace cleave::interpose {

class TurnPacer final : public launch::Pacer {
 public:
  // A launch in `slices` that is expected to take `expected`, or 0 if that is unknown. `upstream` flushes; `abort`: as for
  // TurnUse::make_room(). `caller` may be null; it may return when the first slice has been accepted. Everything must
  // outlive this.
  TurnPacer(TurnUse& use, SlicePacer& upstream, base::Clock& clock, base::Nanoseconds expected,
            std::size_t slices, const std::atomic<int>* abort, Feeder::Caller* caller)
      : use_(use),
        upstream_(upstream),
        clock_(clock),
        slice_(expected / static_cast<base::Nanoseconds::rep>(slices)),
        slices_(slices),
        abort_(abort),
        caller_(caller) {}

  void flush_upstream(std::span<const cl_event> wait_list) noexcept override {
    upstream_.flush_upstream(wait_list);
    if (caller_ != nullptr) caller_->may_return();
  }
  std::size_t slices_at_once() noexcept override;
  launch::WaitResult wait(cl_event command, std::size_t slices) noexcept override;

  // The duration of the whole launch, by the slices between which the device was not given away; 0 if there were too few.
  [[nodiscard]] base::Nanoseconds measured() const;
  // Whether measured() tells what so many slices cost: each was a command by itself.
  [[nodiscard]] bool tells_cost_of_slices() const { return most_at_once_ <= 1 && time_ >= kTelling; }
  // When the launch began, if the device has not been given away since; else 0.
  [[nodiscard]] base::Nanoseconds undisturbed_since() const;
  // The time in which others had the device instead of this launch.
  [[nodiscard]] base::Nanoseconds others() const { return others_; }
  // What one slice is expected to take; 0: nothing is known yet.
  [[nodiscard]] base::Nanoseconds slice() const { return slice_; }

 private:
  [[nodiscard]] std::size_t untimed(std::size_t slices) const;
  void learn(base::Nanoseconds took, std::size_t slices);

  TurnUse& use_;
  SlicePacer& upstream_;
  base::Clock& clock_;
  base::Nanoseconds slice_;
  const std::size_t slices_;
  const std::atomic<int>* const abort_;
  Feeder::Caller* const caller_;
  // Once the window is full, slices are enqueued as fast as earlier ones end.
  std::size_t slices_of_last_ = 0;
  std::size_t most_at_once_ = 0;
  const base::Nanoseconds start_ = clock_.now();
  const std::uint64_t turn_ = use_.turn();
  std::size_t since_turn_ = 0;
  base::Nanoseconds others_{0};
  base::Nanoseconds last_{0};
  base::Nanoseconds time_{0};
  std::size_t timed_ = 0;
};

}  // namespace cleave::interpose
