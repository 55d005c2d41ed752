// As many slices as keep the pressure on the host's processors below a target, and no more than cost a share of the launch's
// time: as many as the restraint (neighbours/restraint.h) asks for, as far as the costs allow. Without restraint launches are
// unsplit.

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

  // Nothing is tried: what the restraint asks for shows what it costs. Unsplit launches are measured, too.
  learn::SliceAdvice advise(LaunchQuery& launch, const CostKeys& keys) const override {
    const std::size_t wanted = neighbours::slices_at(launch.restraint(), budget_limit(launch));
    return costs().within_budget(keys.launch, settings().budget, wanted, learn::Search::climb,
                                 [&] { return launch_name(launch.kernel(), launch.range()); });
  }

  plan::Decision follow(LaunchQuery& launch, const learn::SliceAdvice& advice, learn::Key) const override {
    if (advice.slices > 1) return plan::Decision::split(advice.slices);
    if (neighbours::slices_at(launch.restraint(), budget_limit(launch)) < 2)
      return plan::Decision::unsplit(plan::UnsplitReason::calm);
    const bool trial = advice.state == learn::AdviceState::trial;
    return plan::Decision::unsplit(trial ? plan::UnsplitReason::measuring : plan::UnsplitReason::costly);
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
