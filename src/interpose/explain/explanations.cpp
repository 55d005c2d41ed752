#include "interpose/explain/explanations.h"

#include <algorithm>
#include <string>

#include "interpose/explain/unsplit_texts.h"

namespace cleave::interpose {
namespace {

// The advice for the findings, or else the one for the reason itself.
std::string advice_for(const std::vector<KernelFinding>& findings, const std::string& general) {
  std::vector<std::string> given;
  std::string text;
  for (const KernelFinding& each : findings) {
    if (each.advice.empty() || std::find(given.begin(), given.end(), each.advice) != given.end()) continue;
    given.push_back(each.advice);
    text += (text.empty() ? "" : "; ") + each.advice;
  }
  return text.empty() ? general : text;
}

observe::Explanation explain(plan::UnsplitReason why, const observe::Counters::Named& kernel,
                             const KernelFindings& kept, const base::Configuration& configuration) {
  const UnsplitText words = describe(why, kernel.name, configuration);
  const std::vector<KernelFinding> findings = kept.of(kernel.name, why);
  observe::Explanation explanation{.reason = plan::name(why),
                                   .launches = kernel.statistics.unsplit[static_cast<std::size_t>(why)],
                                   .cause = words.cause,
                                   .advice = advice_for(findings, words.advice),
                                   .findings = {}};
  for (const KernelFinding& each : findings) explanation.findings.push_back(each.finding);
  return explanation;
}

}  // namespace

observe::Explanations explain(const std::vector<observe::Counters::Named>& kernels,
                              const KernelFindings& findings, const base::Configuration& configuration) {
  observe::Explanations explanations;
  for (const observe::Counters::Named& kernel : kernels) {
    for (std::size_t i = 0; i < plan::kUnsplitReasons; ++i) {
      if (kernel.statistics.unsplit[i] == 0) continue;
      const auto why = static_cast<plan::UnsplitReason>(i);
      explanations[kernel.name].push_back(explain(why, kernel, findings, configuration));
    }
  }
  return explanations;
}

}  // namespace cleave::interpose
