// A launch for tests of policies, without a driver.
#pragma once

#include <cstddef>
#include <optional>

#include "interpose/policies/policy.h"

namespace cleave::interpose {

// A launch that can be cut into any number of slices.
class DecidedLaunch final : public LaunchQuery {
 public:
  DecidedLaunch(const base::Settings& settings, unsigned vms, unsigned restraint = 0)
      : settings_(settings), vms_(vms), restraint_(restraint) {
    kernel_.facts.source = plan::Kernel::Source::splittable;
    queue_.facts = {.cores = 480, .resident_groups = 480, .resident_items = 480 * 64};
    range_.global[0] = std::size_t{1} << 20U;
    range_.local[0] = 64;
  }

  [[nodiscard]] const KernelRecord& kernel() const override { return kernel_; }
  [[nodiscard]] unsigned vms() const override { return vms_; }
  [[nodiscard]] unsigned restraint() const override { return restraint_; }
  std::optional<plan::UnsplitReason> kernel_obstacle() override {
    return plan::obstacle(settings_, kernel_.facts, queue_.facts, range_.global[0]);
  }
  std::optional<plan::UnsplitReason> queue_obstacle() override { return std::nullopt; }
  std::optional<plan::UnsplitReason> fix_local_size(std::size_t) override { return std::nullopt; }
  [[nodiscard]] const QueueRecord& queue() const override { return queue_; }
  [[nodiscard]] const plan::NDRange& range() const override { return range_; }
  [[nodiscard]] CostKeys keys() const override {
    return cost_keys(settings_.launch, kernel_, queue_, range_);
  }
  plan::Decision cut(std::size_t slices) override { return plan::Decision::split(slices); }

  plan::Kernel& facts() { return kernel_.facts; }
  // What it costs is kept.
  void identify() { kernel_.identity = queue_.identity = 1; }

 private:
  const base::Settings& settings_;
  const unsigned vms_;
  const unsigned restraint_;
  KernelRecord kernel_;
  QueueRecord queue_;
  plan::NDRange range_;
};

}  // namespace cleave::interpose
