// The facts about the program's launch that policies need.
//
// Not thread-safe: belongs to one call.
#pragma once

#include <cstddef>
#include <optional>

#include "interpose/interposer.h"
#include "interpose/launch/call.h"
#include "interpose/launch/launch_plan.h"
#include "interpose/policies/policy.h"

namespace cleave::interpose {

class LaunchFacts final : public LaunchQuery {
 public:
  // All must outlive this. Requires: call.is_readable().
  LaunchFacts(Interposer& p, const Call& call, const KernelRecord& kernel)
      : p_(p), call_(call), kernel_(kernel), vms_(p.neighbours.vms()) {}

  [[nodiscard]] const KernelRecord& kernel() const override { return kernel_; }
  [[nodiscard]] unsigned vms() const override { return vms_; }
  [[nodiscard]] unsigned restraint() const override {
    if (!restraint_) restraint_ = p_.neighbours.use_restraint();
    return *restraint_;
  }
  [[nodiscard]] const QueueRecord& queue() const override;
  [[nodiscard]] const plan::NDRange& range() const override;
  [[nodiscard]] CostKeys keys() const override {
    return cost_keys(p_.settings().launch, kernel_, queue(), range(), is_in_turn_);
  }

  std::optional<plan::UnsplitReason> kernel_obstacle() override;
  std::optional<plan::UnsplitReason> queue_obstacle() override;
  std::optional<plan::UnsplitReason> fix_local_size(std::size_t slices) override;
  plan::Decision cut(std::size_t slices) override;

  // The launch is made in a turn, on this queue of the program's.
  void begin_turn(const QueueRecord& queue) {
    queue_ = queue;
    is_in_turn_ = true;
  }

  // The launch as it has been decided.
  [[nodiscard]] LaunchPlan plan(const PolicyDecision& decision) const {
    return {.kernel = &kernel_,
            .queue = queue_ ? &*queue_ : nullptr,
            .range = range_ ? &*range_ : nullptr,
            .decision = decision};
  }

  // Whether the latest cut() was refused because of smaller work-groups at the end, or other properties of the range.
  [[nodiscard]] bool refused_for_shape() const { return refused_for_shape_; }

 private:
  [[nodiscard]] std::size_t items() const { return plan::items(range().global); }

  Interposer& p_;
  const Call& call_;
  const KernelRecord& kernel_;
  const unsigned vms_;                          // the same at every query
  mutable std::optional<plan::NDRange> range_;  // empty until it is needed
  std::optional<QueueRecord> queue_;
  mutable std::optional<unsigned> restraint_;  // empty until it is needed
  bool is_in_turn_ = false;
  bool refused_for_shape_ = false;
};

}  // namespace cleave::interpose
