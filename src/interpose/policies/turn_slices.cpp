// The number of slices for a launch in a turn: as many as make each about kTurnSlice long, but no more than fill the device
// two at a time. While nothing is known of a launch, as many as fill the device: it may be long.
//
// How many work-groups fill the device depends on what a kernel needs of registers and local memory, which drivers do not say. By their
// sizes alone they are often too many, and a launch may seem to fit the device at once that does not. So where slices are longer than
// they should be, finer ones are tried step by step, and kept if the launch hardly takes longer.

#include <algorithm>
#include <cmath>
#include <string>

#include "interpose/policies/policy.h"
#include "interpose/turns/pace.h"

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
// A launch that fits the device at once by its size may be as long as that, since it does not, or since its work-groups take so
// long. In the latter case each of them has more of the device while it holds fewer: so they are cut a step finer.
constexpr base::Nanoseconds kLongResident{4'000'000};
constexpr std::size_t kFinestOfResident = 2 * kFinest;
// By how much a launch may take longer in finer slices. Others wait longest for one that seems to fit the device.
constexpr double kMostLost = 0.04;
constexpr double kMostLostOfResident = 0.08;

class TurnSlices final : public MeasuredPolicy {
 public:
  using MeasuredPolicy::MeasuredPolicy;

 private:
  plan::Decision prepare_unmeasured(LaunchQuery& launch) const override {
    // Such kernels may wait for the program, which must not wait for them here.
    if (launch.kernel().facts.may_wait) return plan::Decision::unsplit(plan::UnsplitReason::kernel);
    const plan::Decision possible = prepare(launch, Neighbours::ignored, [] { return kGroups; });
    if (possible.unsplit_reason) return possible;
    const plan::Decision usual = fill_device(launch, kSlicesAtFirst);
    return is_resident(usual) ? fill_device(launch, kSlicesAtFirst, kFinestOfResident) : usual;
  }

  plan::Decision follow_unmeasured(LaunchQuery& launch, std::size_t usual, learn::Key) const override {
    return fill_device(launch, usual);
  }

  learn::SliceAdvice advise(LaunchQuery& launch, const CostKeys& keys) const override {
    return costs().duration(keys.launch, keys.size_family,
                            static_cast<double>(plan::items(launch.range().global)),
                            [] { return std::string(); });
  }

  PolicyDecision follow(LaunchQuery& launch, const learn::SliceAdvice& advice,
                        learn::Key key) const override {
    const double slices =
        std::round(static_cast<double>(advice.duration.count()) / static_cast<double>(kTurnSlice.count()));
    if (slices < kLeastSlices) return plan::Decision::unsplit(plan::UnsplitReason::below_quantum);
    const auto wanted = static_cast<std::size_t>(std::min(slices, kMaxSlices));
    const plan::Decision usual = fill_device(launch, wanted);
    const bool is_fine =
        is_resident(usual) ? advice.duration < kLongResident : usual.unsplit_reason || usual.slices >= wanted;
    if (is_fine) return usual;
    return refine(launch, usual, wanted, key);
  }

  static bool is_resident(const plan::Decision& decision) {
    return decision.unsplit_reason == plan::UnsplitReason::resident;
  }

  // By the finest step that is known to cost little, or one to be tried. `usual` is the first one.
  PolicyDecision refine(LaunchQuery& launch, const plan::Decision& usual, std::size_t wanted,
                        learn::Key key) const {
    const Steps steps = steps_of(launch, usual, wanted);
    if (steps.finest < 2) return usual;
    const double most_lost = is_resident(usual) ? kMostLostOfResident : kMostLost;
    const learn::SliceAdvice advice = costs().within_budget(
        fineness_key(key), most_lost, steps.finest, learn::Search::climb, [] { return std::string(); });
    const std::size_t step = advice.state == learn::AdviceState::unmeasured ? 1 : advice.slices;
    PolicyDecision decision(step < 2 ? usual : fill_device(launch, wanted, steps.fineness(step)));
    decision.fineness = step;
    return decision;
  }

  // What the second step is, and how far they go; each is twice as fine as half of it.
  struct Steps {
    std::size_t second = 2;
    std::size_t finest = 1;

    [[nodiscard]] std::size_t fineness(std::size_t step) const { return second * step / 2; }
  };
  [[nodiscard]] Steps steps_of(const LaunchQuery& launch, const plan::Decision& usual,
                               std::size_t wanted) const {
    if (!usual.unsplit_reason)
      return {.finest = std::min(kFinest, (wanted + usual.slices - 1) / usual.slices)};
    std::size_t second = 2;
    while (second <= kFinestOfResident && fill_device(launch, wanted, second).unsplit_reason) second *= 2;
    return {.second = second, .finest = second <= kFinestOfResident ? 2 * kFinestOfResident / second : 1};
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
