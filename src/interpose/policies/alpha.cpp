// VMs × α slices, but not more than keep the device full.
//
// Source: "GPGPU task management ... virtual machines", Algorithm 1.

#include "interpose/policies/policy.h"

namespace cleave::interpose {
namespace {

class AlphaPolicy final : public Policy {
 public:
  using Policy::Policy;

  PolicyDecision decide(LaunchQuery& launch) noexcept override {
    plan::Decision decision = prepare_alpha(launch, Neighbours::required);
    if (decision.unsplit_reason) return decision;
    decision = plan::limit_to_full_device(settings(), launch.kernel().facts, launch.queue().facts,
                                          launch.range(), decision.slices);
    return decision.unsplit_reason ? decision : launch.cut(decision.slices);
  }
};

}  // namespace

std::unique_ptr<Policy> make_alpha_policy(const PolicyContext& context) {
  return std::make_unique<AlphaPolicy>(context);
}

}  // namespace cleave::interpose
