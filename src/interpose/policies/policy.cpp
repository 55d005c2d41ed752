#include "interpose/policies/policy.h"

namespace cleave::interpose {

PolicyDecision MeasuredPolicy::decide(LaunchQuery& launch) noexcept {
  const plan::Decision usual = prepare_unmeasured(launch);
  if (usual.unsplit_reason) return usual;
  const plan::Decision cut = launch.cut(usual.slices);
  if (cut.unsplit_reason) return cut;
  try {
    return decide_measured(launch, usual.slices, cut);
  } catch (...) {  // out of memory: not measured
    return cut;
  }
}

PolicyDecision MeasuredPolicy::decide_measured(LaunchQuery& launch, std::size_t usual,
                                               const plan::Decision& cut) const {
  const CostKeys keys = launch.keys();
  if (keys.launch == 0) return decide_unmeasured(launch, usual, cut, 0);
  const learn::SliceAdvice advice = advise(launch, keys);
  if (advice.state == learn::AdviceState::unmeasured)
    return decide_unmeasured(launch, usual, cut, keys.launch);
  const PolicyDecision wanted = follow(launch, advice, keys.launch);
  if (!wanted.unsplit_reason) return cut_measured(launch, wanted, keys.launch);
  PolicyDecision whole = wanted;
  whole.key = keys.launch;
  return whole;
}

PolicyDecision MeasuredPolicy::decide_unmeasured(LaunchQuery& launch, std::size_t usual,
                                                 const plan::Decision& cut, learn::Key key) const {
  const plan::Decision wanted = follow_unmeasured(launch, usual, key);
  if (wanted.unsplit_reason) return {wanted, key};
  if (key != 0) return cut_measured(launch, wanted, key);
  return wanted.slices == usual ? cut : launch.cut(wanted.slices);
}

PolicyDecision MeasuredPolicy::cut_measured(LaunchQuery& launch, const PolicyDecision& wanted,
                                            learn::Key key) const {
  const plan::Decision cut = launch.cut(wanted.slices);
  if (cut.unsplit_reason) return cut;
  if (cut.slices < wanted.slices) costs().limit_slices(key, cut.slices);
  PolicyDecision decision(cut, key);
  decision.fineness = cut.slices < wanted.slices ? 0 : wanted.fineness;
  return decision;
}

std::unique_ptr<Policy> make_policy(const PolicyContext& context) {
  switch (context.settings.policy.kind) {
#define CLEAVE_POLICY(name, value, needs_vms) \
  case base::SplitPolicy::Kind::name:         \
    return make_##name##_policy(context);
#include "base/settings/split_policies.def"
#undef CLEAVE_POLICY
  }
  return make_off_policy(context);
}

}  // namespace cleave::interpose
