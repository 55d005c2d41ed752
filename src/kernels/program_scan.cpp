#include "kernels/program_scan.h"

#include "kernels/functions.h"
#include "kernels/program_variables.h"

namespace cleave::kernels {

ProgramScan::ProgramScan(std::string_view source, const BuildInputs& inputs) {
  const std::string text = without_splices(source);
  const std::string options = options_as_directive(inputs.options);
  std::vector<std::string> headers;
  for (const std::string& header : inputs.headers) headers.push_back(without_splices(header));
  const Options parsed = parse_options(inputs.options);

  std::vector<std::string_view> texts{text};
  texts.insert(texts.end(), headers.begin(), headers.end());
  Build part;
  part.options = scan_options(inputs.options);
  part.whole = merge(inputs.complete ? part.options : Scan::worst_case(), scan_text(options));
  for (const std::string_view each : texts) part.whole = merge(part.whole, scan_text(each));
  part.whole.keeps_state |= has_program_variables(texts, inputs.options);
  if (part.whole.pastes_tokens) part.whole = merge(part.whole, scan_pasted_names(texts, options));
  part.whole.breaks_prelude |= part.whole.pastes_tokens && part.whole.breaks_prelude_if_pasting;

  const Scan& whole = part.whole;
  if (!whole.pastes_tokens && !whole.has_includes && !whole.ambiguous && !parsed.cpp &&
      split_functions(options)) {
    if (const auto functions = split_functions(text))
      part.calls = std::make_shared<CallGraph>(*functions, options, parsed.macros);
  }
  whole_ = part.whole;
  builds_.push_back(std::move(part));
}

ProgramScan::ProgramScan(const Scan& whole) : whole_(whole), builds_{{whole, {}, nullptr}} {}

Scan ProgramScan::of(const std::string& kernel) const {
  Scan all;
  for (const Build& part : builds_) {
    const auto own = part.calls ? part.calls->of(kernel) : std::nullopt;
    all = merge(all, own ? merge(*own, part.options) : part.whole);
    all.keeps_state |= part.whole.keeps_state;
  }
  return all;
}

void ProgramScan::add(const ProgramScan& other) {
  whole_ = merge(whole_, other.whole_);
  builds_.insert(builds_.end(), other.builds_.begin(), other.builds_.end());
}

}  // namespace cleave::kernels
