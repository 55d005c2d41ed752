// As many slices as keep the pressure on the host's processors below a target, and no more than cost a share of the
// launch's time: as many as the restraint (neighbours/restraint.h) calls for, as far as the costs allow. Without
// restraint launches are unsplit.

#include <algorithm>
#include <bit>

#include "interpose/policies/policy.h"
#include "neighbours/restraint.h"

namespace cleave::interpose {
namespace {

// What the host's processors spend on a slice, some 6 us with NVIDIA's driver, is taken from the neighbours: with shorter slices
// more than a hundredth of a processor, for nothing, since the host's scheduler lets each of them run for longer than a slice.
constexpr base::Nanoseconds kLeastSlice = std::chrono::microseconds(500);

// A power of two, so that it does not change with each measured time. No limit for a launch that has not been measured.
std::size_t most_of_length(base::Nanoseconds launch) {
  if (launch.count() <= 0) return SIZE_MAX;
  return std::bit_floor(static_cast<std::size_t>(std::max<std::int64_t>(1, launch / kLeastSlice)));
}

class PressurePolicy final : public MeasuredPolicy {
 public:
  using MeasuredPolicy::MeasuredPolicy;

 private:
  plan::Decision prepare_unmeasured(LaunchQuery& launch) const override {
    return prepare_alpha(launch, Neighbours::required);
  }

  // There are no trials: the launches that the restraint splits show the costs. Unsplit launches are measured, too.
  learn::SliceAdvice advise(LaunchQuery& launch, const CostKeys& keys) const override {
    const std::size_t most =
        std::min(budget_limit(launch), most_of_length(costs().known_duration(keys.launch)));
    const std::size_t wanted = neighbours::slices_at(launch.restraint(), most);
    return costs().within_budget(keys.launch, settings().policy.budget, wanted, learn::Search::climb,
                                 [&] { return launch_name(launch.kernel(), launch.range()); });
  }

  PolicyDecision follow(LaunchQuery& launch, const learn::SliceAdvice& advice, learn::Key) const override {
    if (advice.slices > 1) return plan::Decision::split(advice.slices);
    if (neighbours::slices_at(launch.restraint(), budget_limit(launch)) < 2)
      return plan::Decision::unsplit(plan::UnsplitReason::calm);
    if (most_of_length(advice.duration) < 2)
      return plan::Decision::unsplit(plan::UnsplitReason::below_quantum);
    const bool trial = advice.state == learn::AdviceState::trial;
    return plan::Decision::unsplit(trial ? plan::UnsplitReason::measuring : plan::UnsplitReason::costly);
  }

  plan::Decision follow_unmeasured(LaunchQuery& launch, std::size_t usual, learn::Key key) const override {
    if (neighbours::slices_at(launch.restraint(), usual) < 2)
      return plan::Decision::unsplit(plan::UnsplitReason::calm);
    const std::size_t most = std::min(usual, most_of_length(costs().known_duration(key)));
    if (most < 2) return plan::Decision::unsplit(plan::UnsplitReason::below_quantum);
    return plan::Decision::split(neighbours::slices_at(launch.restraint(), most));
  }
};

}  // namespace

std::unique_ptr<Policy> make_pressure_policy(const PolicyContext& context) {
  return std::make_unique<PressurePolicy>(context);
}

}  // namespace cleave::interpose
