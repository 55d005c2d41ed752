// A fixed number of slices, with or without neighbours.

#include "interpose/policies/policy.h"

namespace cleave::interpose {
namespace {

class FixedPolicy final : public Policy {
 public:
  using Policy::Policy;

  PolicyDecision decide(LaunchQuery& launch) noexcept override {
    const std::size_t slices = settings().policy.slices;
    if (slices < 2)
      return plan::Decision::unsplit(kernel_obstacle(launch).value_or(plan::UnsplitReason::policy));
    const plan::Decision ready = prepare(launch, Neighbours::ignored, [slices] { return slices; });
    return ready.unsplit_reason ? ready : launch.cut(slices);
  }
};

}  // namespace

std::unique_ptr<Policy> make_fixed_policy(const PolicyContext& context) {
  return std::make_unique<FixedPolicy>(context);
}

}  // namespace cleave::interpose
