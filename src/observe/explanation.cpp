#include "observe/explanation.h"

#include <cinttypes>

#include "base/text/format.h"
#include "base/text/json.h"

namespace cleave::observe {
namespace {

using base::formatted;

std::string lines_of(const Explanation& explanation) {
  std::string text = formatted("cleave:   %" PRIu64 " ", explanation.launches) + explanation.reason + ": " +
                     explanation.cause + "\n";
  for (const Finding& finding : explanation.findings) text += "cleave:     " + finding.text + "\n";
  return text + "cleave:     what to do: " + explanation.advice + "\n";
}

std::string json_of(const Finding& finding) {
  return base::JsonObject()
      .add("text", finding.text)
      .add("construct", finding.construct)
      .add("file", finding.file)
      .add("line", finding.line)
      .text();
}

}  // namespace

std::string as_text(const std::vector<Counters::Named>& kernels, const Explanations& explanations) {
  std::uint64_t launches = 0;
  std::string text;
  for (const Counters::Named& kernel : kernels) {
    launches += kernel.statistics.launches;
    const auto found = explanations.find(kernel.name);
    if (found == explanations.end() || found->second.empty()) continue;
    text += "cleave: " + kernel.name +
            formatted(": %" PRIu64 " launch%s, %" PRIu64 " split\n", kernel.statistics.launches,
                      kernel.statistics.launches == 1 ? "" : "es", kernel.statistics.split);
    for (const Explanation& explanation : found->second) text += lines_of(explanation);
  }
  if (!text.empty()) return text;
  if (launches == 0) return "cleave: no launches\n";
  return formatted("cleave: %" PRIu64 " launch%s, all split\n", launches, launches == 1 ? "" : "es");
}

std::string as_json(const std::vector<Explanation>& explanations) {
  base::JsonList list;
  for (const Explanation& explanation : explanations) {
    base::JsonList findings;
    for (const Finding& finding : explanation.findings) findings.add_json(json_of(finding));
    list.add_json(base::JsonObject()
                      .add("reason", explanation.reason)
                      .add("launches", explanation.launches)
                      .add("cause", explanation.cause)
                      .add("advice", explanation.advice)
                      .add_json("findings", findings.text())
                      .text());
  }
  return list.text();
}

}  // namespace cleave::observe
