// The number of slices for a launch in a turn: as many as make each about kTurnSlice long, but no more than fill the device
// two at a time. While nothing is known of a launch, as many as fill the device: it may be long.

#include <algorithm>
#include <cmath>

#include "interpose/policies/policy.h"
#include "interpose/turns/device_turn.h"

namespace cleave::interpose {
namespace {

// Work-groups for at least so many slices, where Cleave chooses the local size.
constexpr std::size_t kGroups = 16;
constexpr std::size_t kSlicesAtFirst = 2048;
constexpr double kLeastSlices = 3;
constexpr double kMaxSlices = 100'000;
// In flight at a time.
constexpr unsigned kSideBySide = 2;

class TurnSlices final : public MeasuredPolicy {
 public:
  using MeasuredPolicy::MeasuredPolicy;

 private:
  plan::Decision prepare_unmeasured(LaunchQuery& launch) const override {
    // Such kernels may wait for the program, which must not wait for them here.
    if (launch.kernel().facts.communicates) return plan::Decision::unsplit(plan::UnsplitReason::kernel);
    const plan::Decision possible = prepare(launch, Neighbours::ignored, [] { return kGroups; });
    return possible.unsplit_reason ? possible : fill_device(launch, kSlicesAtFirst);
  }

  learn::SliceAdvice advise(LaunchQuery& launch, const CostKeys& keys) const override {
    return costs().duration(keys.launch, keys.size_family,
                            static_cast<double>(plan::items(launch.range().global)),
                            [&] { return launch_name(launch.kernel(), launch.range()); });
  }

  plan::Decision follow(LaunchQuery& launch, const learn::SliceAdvice& advice, learn::Key) const override {
    const double slices =
        std::round(static_cast<double>(advice.duration.count()) / static_cast<double>(kTurnSlice.count()));
    if (slices < kLeastSlices) return plan::Decision::unsplit(plan::UnsplitReason::below_quantum);
    return fill_device(launch, static_cast<std::size_t>(std::min(slices, kMaxSlices)));
  }

  // At most `slices`, and no more than fill the device with kSideBySide of them.
  [[nodiscard]] plan::Decision fill_device(const LaunchQuery& launch, std::size_t slices) const {
    plan::Device device = launch.queue().facts;
    device.queues = std::min(device.queues, kSideBySide);
    return plan::limit_to_full_device(settings(), launch.kernel().facts, device, launch.range(), slices);
  }
};

}  // namespace

std::unique_ptr<Policy> make_turn_slices(const PolicyContext& context) {
  return std::make_unique<TurnSlices>(context);
}

}  // namespace cleave::interpose
