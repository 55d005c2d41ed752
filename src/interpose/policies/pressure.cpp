// As many slices as keep the pressure on the host's processors below a target, and no more than cost a share of the launch's
// time: the restraint (neighbours/restraint.h) says how much of what the policy `budget` would do. Without restraint launches
// are unsplit.

#include <algorithm>

#include "interpose/policies/policy.h"
#include "neighbours/restraint.h"

namespace cleave::interpose {
namespace {

class PressurePolicy final : public MeasuredPolicy {
 public:
  using MeasuredPolicy::MeasuredPolicy;

 private:
  plan::Decision prepare_unmeasured(LaunchQuery& launch) const override {
    return prepare_alpha(launch, Neighbours::required);
  }

  learn::SliceAdvice advise(LaunchQuery& launch, const CostKeys& keys) const override {
    return costs().within_budget(keys.launch, settings().budget, budget_limit(launch),
                                 [&] { return launch_name(launch.kernel(), launch.range()); });
  }

  // Trials show what the budget pays for. They are made once there is a reason to split; until then unsplit launches are
  // measured.
  plan::Decision follow(LaunchQuery& launch, const learn::SliceAdvice& advice, learn::Key) const override {
    const unsigned restraint = launch.restraint();
    if (neighbours::slices_at(restraint, SIZE_MAX) < 2)
      return plan::Decision::unsplit(plan::UnsplitReason::calm);
    const bool trial = advice.state == learn::AdviceState::trial;
    if (advice.slices < 2)
      return plan::Decision::unsplit(trial ? plan::UnsplitReason::measuring : plan::UnsplitReason::costly);
    return plan::Decision::split(trial ? advice.slices : neighbours::slices_at(restraint, advice.slices));
  }

  plan::Decision follow_unmeasured(LaunchQuery& launch, std::size_t usual) const override {
    const std::size_t slices = neighbours::slices_at(launch.restraint(), usual);
    return slices < 2 ? plan::Decision::unsplit(plan::UnsplitReason::calm) : plan::Decision::split(slices);
  }
};

}  // namespace

std::unique_ptr<Policy> make_pressure_policy(const PolicyContext& context) {
  return std::make_unique<PressurePolicy>(context);
}

}  // namespace cleave::interpose
