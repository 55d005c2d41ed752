// As many slices as cost no more than a share of the launch's time, by measured costs. VMs × α while nothing is known.

#include <algorithm>

#include "interpose/policies/cost_keys.h"
#include "interpose/policies/policy.h"

namespace cleave::interpose {
namespace {

class BudgetPolicy final : public Policy {
 public:
  using Policy::Policy;

  PolicyDecision decide(LaunchQuery& launch) noexcept override {
    const plan::Decision usual = prepare_alpha(launch, Neighbours::required);
    if (usual.unsplit_reason) return usual;
    const plan::Decision cut = launch.cut(usual.slices);
    if (cut.unsplit_reason) return cut;
    try {
      return decide_measured(launch, usual.slices, cut);
    } catch (...) {  // out of memory: not measured
      return cut;
    }
  }

  [[nodiscard]] bool measures_launches() const override { return true; }

 private:
  PolicyDecision decide_measured(LaunchQuery& launch, std::size_t usual, const plan::Decision& cut) const {
    using plan::UnsplitReason;
    const CostKeys keys = cost_keys(settings().launch, launch.kernel(), launch.queue(), launch.range());
    if (keys.launch == 0) return cut;
    const std::size_t limit =
        std::min(plan::max_slices(settings(), launch.vms()), launch.range().total_groups());
    const learn::SliceAdvice advice = costs().within_budget(
        keys.launch, settings().budget, limit, [&] { return launch_name(launch.kernel(), launch.range()); });
    if (advice.state == learn::AdviceState::unmeasured) return cut_measured(launch, usual, keys.launch);
    if (advice.slices > 1) return cut_measured(launch, advice.slices, keys.launch);
    const bool trial = advice.state == learn::AdviceState::trial;
    return {plan::Decision::unsplit(trial ? UnsplitReason::measuring : UnsplitReason::costly), keys.launch};
  }
};

}  // namespace

std::unique_ptr<Policy> make_budget_policy(const PolicyContext& context) {
  return std::make_unique<BudgetPolicy>(context);
}

}  // namespace cleave::interpose
