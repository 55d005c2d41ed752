// The number of slices for a launch in a turn: as many as make each about kTurnSlice long, but no more than fill the device
// two at a time. While nothing is known of a launch, as many as fill the device: it may be long.
//
// How many work-groups fill the device depends on what a kernel needs of registers and local memory, which drivers do not say. By their
// sizes alone they are often too many. So where slices are longer than they should be, finer ones are tried, and kept if the launch
// hardly takes longer.

#include <algorithm>
#include <cmath>
#include <string>

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
// A kernel that needs all registers that a work-item may have has an eighth of the most work-items at a time, on NVIDIA's GPUs.
constexpr std::size_t kFinest = 8;
// By how much a launch may take longer in finer slices.
constexpr double kMostLost = 0.04;

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

  PolicyDecision follow(LaunchQuery& launch, const learn::SliceAdvice& advice,
                        learn::Key key) const override {
    const double slices =
        std::round(static_cast<double>(advice.duration.count()) / static_cast<double>(kTurnSlice.count()));
    if (slices < kLeastSlices) return plan::Decision::unsplit(plan::UnsplitReason::below_quantum);
    const auto wanted = static_cast<std::size_t>(std::min(slices, kMaxSlices));
    const plan::Decision usual = fill_device(launch, wanted);
    if (usual.unsplit_reason || usual.slices >= wanted) return usual;
    const std::size_t finest = std::min(kFinest, (wanted + usual.slices - 1) / usual.slices);
    const learn::SliceAdvice finer = costs().within_budget(
        fineness_key(key), kMostLost, finest, learn::Search::climb, [] { return std::string(); });
    const std::size_t fineness = finer.state == learn::AdviceState::unmeasured ? 1 : finer.slices;
    PolicyDecision decision = fill_device(launch, wanted, fineness);
    decision.fineness = fineness;
    return decision;
  }

  // At most `slices`, and no more than fill the device with kSideBySide of them, if it holds a `fineness`-th of what it could by
  // the sizes of the work-groups.
  [[nodiscard]] plan::Decision fill_device(const LaunchQuery& launch, std::size_t slices,
                                           std::size_t fineness = 1) const {
    plan::Device device = launch.queue().facts;
    device.queues = std::min(device.queues, kSideBySide);
    device.resident_groups = std::max<std::size_t>(1, device.resident_groups / fineness);
    device.resident_items = std::max<std::size_t>(1, device.resident_items / fineness);
    return plan::limit_to_full_device(settings(), launch.kernel().facts, device, launch.range(), slices);
  }
};

}  // namespace

std::unique_ptr<Policy> make_turn_slices(const PolicyContext& context) {
  return std::make_unique<TurnSlices>(context);
}

}  // namespace cleave::interpose
