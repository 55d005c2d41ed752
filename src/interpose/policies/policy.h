// A policy decides into how many slices a launch is split. There are two policy objects per process: one chosen by
// CLEAVE_SPLIT, and one for launches in turns. One of them decides, once for each launch.
//
// To add a policy: write one file here that defines make_NAME_policy(), and add its row to base/settings/split_policies.def,
// from which the setting's grammar and make_policy() follow.
//
// Thread-safe: launches are decided concurrently. decide() does not allocate for a launch that was seen before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

#include "base/settings/settings.h"
#include "interpose/costs/cost_keys.h"
#include "interpose/state/records.h"
#include "learn/cost_table.h"
#include "plan/decide.h"
#include "plan/ndrange.h"

namespace cleave::interpose {

// A launch as policies see it. Answers are computed on demand, so that most launches that stay unsplit cost little. The
// functions that return a reason do so if no policy can split the launch.
class LaunchQuery {
 public:
  virtual ~LaunchQuery() = default;

  [[nodiscard]] virtual const KernelRecord& kernel() const = 0;
  // Virtual machines on the host, this one included.
  [[nodiscard]] virtual unsigned vms() const = 0;
  // How much the policy `pressure` is to hold the launch back (neighbours/restraint.h): the same at every query.
  [[nodiscard]] virtual unsigned restraint() const = 0;

  // Reasons that do not depend on the queue.
  virtual std::optional<plan::UnsplitReason> kernel_obstacle() = 0;
  // Reasons that depend on the queue.
  virtual std::optional<plan::UnsplitReason> queue_obstacle() = 0;
  // Makes the local size explicit, with at least `slices` work-groups if Cleave chooses it.
  virtual std::optional<plan::UnsplitReason> fix_local_size(std::size_t slices) = 0;

  // Requires: queue_obstacle() found none.
  [[nodiscard]] virtual const QueueRecord& queue() const = 0;
  // Requires: fix_local_size() succeeded.
  [[nodiscard]] virtual const plan::NDRange& range() const = 0;
  // Under which what it takes is kept. Requires: fix_local_size() succeeded.
  [[nodiscard]] virtual CostKeys keys() const = 0;
  // Into how many slices the launch can be cut, at most `slices`. Requires: fix_local_size() succeeded.
  virtual plan::Decision cut(std::size_t slices) = 0;
};

struct PolicyDecision : plan::Decision {
  PolicyDecision(const plan::Decision& decision, learn::Key measured_as = 0)
      : plan::Decision(decision), key(measured_as) {}

  learn::Key key;  // under which the launch is measured; 0: it is not
  // The step of policies/turn_slices.cpp by which it is cut finer than usual: 1 is the usual cut, or the whole launch.
  // 0: it could not be cut as requested, so its duration says nothing about that.
  std::size_t fineness = 1;
};

// What policies may use. Both must outlive the policy.
struct PolicyContext {
  const base::Settings& settings;
  learn::CostTable& costs;
};

class Policy {
 public:
  explicit Policy(const PolicyContext& context) : context_(context) {}
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  // The number of slices, or why the launch is not split.
  virtual PolicyDecision decide(LaunchQuery& launch) noexcept = 0;

  // Whether it ever splits; if not, programs are left unchanged.
  [[nodiscard]] virtual bool may_split() const { return true; }

  // Whether launches are measured for it, in context_.costs.
  [[nodiscard]] virtual bool measures_launches() const { return false; }

 protected:
  [[nodiscard]] const base::Settings& settings() const { return context_.settings; }
  [[nodiscard]] learn::CostTable& costs() const { return context_.costs; }

  enum class Neighbours : bool { ignored, required };
  // Everything before the cut: obstacles, being alone if neighbours are required, the local size. Returns slices() if
  // the launch may be split; it is called when the queue is known.
  template <typename Slices>
  plan::Decision prepare(LaunchQuery& launch, Neighbours neighbours, Slices slices) const {
    const auto reason = obstacle(launch, neighbours);
    if (reason) return plan::Decision::unsplit(*reason);
    const std::size_t wanted = slices();
    const auto no_local_size = launch.fix_local_size(wanted);
    return no_local_size ? plan::Decision::unsplit(*no_local_size) : plan::Decision::split(wanted);
  }
  // The same for VMs × α slices.
  plan::Decision prepare_alpha(LaunchQuery& launch, Neighbours neighbours) const {
    return prepare(launch, neighbours, [&] {
      return plan::alpha_slices(settings(), launch.kernel().facts, launch.queue().facts, launch.vms());
    });
  }

  // Reasons that do not depend on the queue, the deny list included.
  static std::optional<plan::UnsplitReason> kernel_obstacle(LaunchQuery& launch, bool alone = false) {
    if (launch.kernel().facts.denied) return plan::UnsplitReason::denied;
    return alone ? plan::UnsplitReason::alone : launch.kernel_obstacle();
  }

 private:
  // In the header, since every launch passes here: calls would cost more than what they do.
  static std::optional<plan::UnsplitReason> obstacle(LaunchQuery& launch, Neighbours neighbours) {
    const bool alone = neighbours == Neighbours::required && launch.vms() <= 1;
    const auto reason = kernel_obstacle(launch, alone);
    return reason ? reason : launch.queue_obstacle();
  }

  const PolicyContext context_;
};

// A policy by measured costs. While nothing is known of a launch, it is split as prepare_unmeasured() says.
class MeasuredPolicy : public Policy {
 public:
  using Policy::Policy;

  PolicyDecision decide(LaunchQuery& launch) noexcept final;
  [[nodiscard]] bool measures_launches() const final { return true; }

 protected:
  // Everything before the first cut, as prepare().
  virtual plan::Decision prepare_unmeasured(LaunchQuery& launch) const = 0;
  // What the costs advise for a launch that can be cut. May throw std::bad_alloc.
  virtual learn::SliceAdvice advise(LaunchQuery& launch, const CostKeys& keys) const = 0;
  // Into how many slices the measured launch is split by this advice, or why it is not.
  virtual PolicyDecision follow(LaunchQuery& launch, const learn::SliceAdvice& advice,
                                learn::Key key) const = 0;
  // Into how many slices a launch is split of whose slices nothing is known: as prepare_unmeasured() says, unless overridden. Its key
  // is 0 if it is not measured.
  virtual plan::Decision follow_unmeasured(LaunchQuery&, std::size_t usual, learn::Key) const {
    return plan::Decision::split(usual);
  }

  // The most slices that a launch may have by its budget's settings.
  [[nodiscard]] std::size_t budget_limit(const LaunchQuery& launch) const {
    return std::min(plan::max_slices(launch.vms()), launch.range().total_groups());
  }

 private:
  PolicyDecision decide_unmeasured(LaunchQuery& launch, std::size_t usual, const plan::Decision& cut,
                                   learn::Key key) const;
  PolicyDecision decide_measured(LaunchQuery& launch, std::size_t usual, const plan::Decision& cut) const;
  // Cuts the measured launch and remembers in `key` if fewer slices are possible than wanted.
  PolicyDecision cut_measured(LaunchQuery& launch, const PolicyDecision& wanted, learn::Key key) const;
};

// The policy that the settings name.
std::unique_ptr<Policy> make_policy(const PolicyContext& context);

// The policy for launches in a turn, whatever the settings name.
std::unique_ptr<Policy> make_turn_slices(const PolicyContext& context);

#define CLEAVE_POLICY(name, value, needs_vms) \
  std::unique_ptr<Policy> make_##name##_policy(const PolicyContext& context);
#include "base/settings/split_policies.def"
#undef CLEAVE_POLICY

}  // namespace cleave::interpose
