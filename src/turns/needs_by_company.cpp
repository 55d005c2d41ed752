#include "turns/needs_by_company.h"

#include <algorithm>

namespace cleave::turns {

WorkNeed::Verdict NeedsByCompany::launched(const WorkNeed::Launch& launch, std::uint64_t busy, Ns now) {
  using Verdict = WorkNeed::Verdict;
  bool has_ended = false;  // a need beside others
  if (known_[present_].busy != busy) {
    has_ended = known_[present_].need.has_need();
    change(busy, now);
  }
  Beside& present = known_[present_];
  present.latest = now;
  const Verdict verdict = present.need.launched(launch, now);
  return verdict == Verdict::unchanged && has_ended ? Verdict::does_not_help : verdict;
}

void NeedsByCompany::change(std::uint64_t busy, Ns now) {
  const auto same = std::find_if(known_.begin(), known_.end(), [busy](const Beside& each) {
    return each.latest != 0 && each.busy == busy;
  });
  const auto oldest = std::min_element(known_.begin(), known_.end(),
                                       [](const Beside& a, const Beside& b) { return a.latest < b.latest; });
  const auto chosen = same != known_.end() ? same : oldest;
  if (same == known_.end()) *chosen = {.busy = busy, .latest = now, .need = {}};
  chosen->need.resume(now);
  present_ = static_cast<std::size_t>(chosen - known_.begin());
}

}  // namespace cleave::turns
