// As many slices as leave none longer than a quantum, by measured durations. While nothing is known of a launch, VMs × α
// slices, but at least kUnmeasuredSlices.

#include <algorithm>

#include "interpose/policies/policy.h"
#include "plan/mode.h"

namespace cleave::interpose {
namespace {

constexpr std::size_t kUnmeasuredSlices = 16;

class QuantumPolicy final : public MeasuredPolicy {
 public:
  using MeasuredPolicy::MeasuredPolicy;

 private:
  plan::Decision prepare_unmeasured(LaunchQuery& launch) const override {
    return prepare(launch, Neighbours::ignored, [&] {
      return std::max(
          plan::alpha_slices(settings(), launch.kernel().facts, launch.queue().facts, launch.vms()),
          kUnmeasuredSlices);
    });
  }

  learn::SliceAdvice advise(LaunchQuery& launch, const CostKeys& keys) const override {
    return costs().duration(keys.launch, keys.size_family,
                            static_cast<double>(plan::items(launch.range().global)),
                            [&] { return launch_name(launch.kernel(), launch.range()); });
  }

  PolicyDecision follow(LaunchQuery& launch, const learn::SliceAdvice& advice,
                        learn::Key key) const override {
    const plan::Kernel& kernel = launch.kernel().facts;
    const QueueRecord& queue = launch.queue();
    const double quanta =
        static_cast<double>(advice.duration.count()) / static_cast<double>(settings().policy.quantum.count());
    const bool pipelined = plan::may_overlap(settings().launch, kernel, queue.facts) && queue.queue_template;
    const std::size_t slices =
        plan::slices_in_quantum(quanta, launch.range(), plan::order_of(kernel), queue.facts, pipelined);
    costs().set_slices(key, slices);
    return slices == 1 ? plan::Decision::unsplit(plan::UnsplitReason::below_quantum)
                       : plan::Decision::split(slices);
  }
};

}  // namespace

std::unique_ptr<Policy> make_quantum_policy(const PolicyContext& context) {
  return std::make_unique<QuantumPolicy>(context);
}

}  // namespace cleave::interpose
