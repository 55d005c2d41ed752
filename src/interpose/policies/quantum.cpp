// As many slices as leave none longer than a quantum, by measured durations. While nothing is known of a launch, VMs × α
// slices, but at least kUnmeasuredSlices.

#include <algorithm>

#include "interpose/policies/cost_keys.h"
#include "interpose/policies/policy.h"
#include "plan/mode.h"

namespace cleave::interpose {
namespace {

constexpr std::size_t kUnmeasuredSlices = 16;

class QuantumPolicy final : public Policy {
 public:
  using Policy::Policy;

  PolicyDecision decide(LaunchQuery& launch) noexcept override {
    const plan::Decision usual = prepare(launch, Neighbours::ignored, [&] {
      return std::max(
          plan::alpha_slices(settings(), launch.kernel().facts, launch.queue().facts, launch.vms()),
          kUnmeasuredSlices);
    });
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
    const KernelRecord& kernel = launch.kernel();
    const QueueRecord& queue = launch.queue();
    const plan::NDRange& range = launch.range();
    const CostKeys keys = cost_keys(settings().launch, kernel, queue, range);
    if (keys.launch == 0) return cut;
    const learn::SliceAdvice advice =
        costs().duration(keys.launch, keys.size_family, static_cast<double>(plan::items(range.global)),
                         [&] { return launch_name(kernel, range); });
    if (advice.state == learn::AdviceState::unmeasured) return cut_measured(launch, usual, keys.launch);
    const double quanta =
        static_cast<double>(advice.duration.count()) / static_cast<double>(settings().policy.quantum.count());
    const bool pipelined =
        plan::may_overlap(settings().launch, kernel.facts, queue.facts) && queue.queue_template;
    const std::size_t slices =
        plan::slices_in_quantum(quanta, range, plan::order_of(kernel.facts), queue.facts, pipelined);
    costs().set_slices(keys.launch, slices);
    if (slices == 1) return {plan::Decision::unsplit(plan::UnsplitReason::below_quantum), keys.launch};
    return cut_measured(launch, slices, keys.launch);
  }
};

}  // namespace

std::unique_ptr<Policy> make_quantum_policy(const PolicyContext& context) {
  return std::make_unique<QuantumPolicy>(context);
}

}  // namespace cleave::interpose
