// As many slices as cost no more than a share of the launch's time, by measured costs. VMs × α while nothing is known.

#include "interpose/policies/policy.h"

namespace cleave::interpose {
namespace {

class BudgetPolicy final : public MeasuredPolicy {
 public:
  using MeasuredPolicy::MeasuredPolicy;

 private:
  plan::Decision prepare_unmeasured(LaunchQuery& launch) const override {
    return prepare_alpha(launch, Neighbours::required);
  }

  learn::SliceAdvice advise(LaunchQuery& launch, const CostKeys& keys) const override {
    return costs().within_budget(keys.launch, settings().policy.budget, budget_limit(launch),
                                 learn::Search::trials,
                                 [&] { return launch_name(launch.kernel(), launch.range()); });
  }

  PolicyDecision follow(LaunchQuery&, const learn::SliceAdvice& advice, learn::Key) const override {
    if (advice.slices > 1) return plan::Decision::split(advice.slices);
    const bool trial = advice.state == learn::AdviceState::trial;
    return plan::Decision::unsplit(trial ? plan::UnsplitReason::measuring : plan::UnsplitReason::costly);
  }
};

}  // namespace

std::unique_ptr<Policy> make_budget_policy(const PolicyContext& context) {
  return std::make_unique<BudgetPolicy>(context);
}

}  // namespace cleave::interpose
