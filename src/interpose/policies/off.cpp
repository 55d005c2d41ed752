// Never splits: the user has switched splitting off, or the configuration is invalid.

#include "interpose/policies/policy.h"

namespace cleave::interpose {
namespace {

class OffPolicy final : public Policy {
 public:
  using Policy::Policy;

  PolicyDecision decide(LaunchQuery&) noexcept override {
    return plan::Decision::unsplit(plan::UnsplitReason::policy);
  }
  [[nodiscard]] bool may_split() const override { return false; }
};

}  // namespace

std::unique_ptr<Policy> make_off_policy(const PolicyContext& context) {
  return std::make_unique<OffPolicy>(context);
}

}  // namespace cleave::interpose
