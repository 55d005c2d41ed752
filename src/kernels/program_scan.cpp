#include "kernels/program_scan.h"

#include <deque>

#include "kernels/functions.h"
#include "kernels/program_variables.h"

namespace cleave::kernels {
namespace {

// Nothing is known of an included text.
Findings anything_because_of(const std::optional<Cause>& missing) {
  Findings all;
  all.scan = Scan::worst_case();
  if (missing) all.causes.note(all.scan, *missing, missing->construct);
  return all;
}

Findings findings_in(const JoinedText& text) {
  Findings found;
  found.scan = scan_tokens(tokens_of(text.text()), {&text, &found.causes});
  return found;
}

std::vector<std::string_view> views_of(const std::deque<JoinedText>& texts) {
  std::vector<std::string_view> views;
  views.reserve(texts.size());
  for (const JoinedText& text : texts) views.emplace_back(text.text());
  return views;
}

void add_pasted_names(const std::deque<JoinedText>& texts, const std::string& options, Findings& whole) {
  const std::vector<std::string_view> views = views_of(texts);
  Causes causes = whole.causes;
  whole.add({scan_pasted_names(views, options, &causes), causes});
  if (!whole.scan.breaks_prelude_if_pasting) return;
  whole.scan.breaks_prelude = true;
  if (const Cause* paste = whole.causes.of(Cause::Finding::pastes_tokens))
    whole.causes.note(whole.scan, *paste, paste->construct);
}

}  // namespace

ProgramScan::ProgramScan(std::string_view source, const BuildInputs& inputs) {
  std::deque<JoinedText> texts;
  texts.emplace_back(source);
  for (std::size_t i = 0; i < inputs.headers.size(); ++i)
    texts.emplace_back(inputs.headers[i], i < inputs.header_names.size() ? inputs.header_names[i] : "");
  const JoinedText options(options_as_directive(inputs.options), JoinedText::NoLines{});
  const Options parsed = parse_options(inputs.options);

  Build part;
  part.options.scan = scan_options(inputs.options, &part.options.causes);
  part.whole = inputs.complete ? part.options : anything_because_of(inputs.missing);
  part.whole.add(findings_in(options));
  std::vector<const JoinedText*> all;
  for (const JoinedText& text : texts) {
    part.whole.add(findings_in(text));
    all.push_back(&text);
  }
  part.whole.scan.keeps_state |= has_program_variables(all, inputs.options, &part.whole.causes);
  if (part.whole.scan.pastes_tokens) add_pasted_names(texts, options.text(), part.whole);

  const Scan& whole = part.whole.scan;
  if (!whole.pastes_tokens && !whole.has_includes && !whole.ambiguous && !parsed.cpp &&
      split_functions(tokens_of(options.text()))) {
    if (const auto functions = split_functions(tokens_of(texts.front().text())))
      part.calls = std::make_shared<CallGraph>(*functions, texts.front(), options, parsed.macros);
  }
  whole_ = whole;
  causes_ = part.whole.causes;
  builds_.push_back(std::move(part));
}

ProgramScan::ProgramScan(const Scan& whole, const std::vector<Cause>& causes)
    : whole_(whole), causes_(causes), builds_{{{whole, Causes(causes)}, {}, nullptr}} {}

ProgramScan::ProgramScan(const Scan& whole, std::map<std::string, Scan> kernels) : ProgramScan(whole) {
  builds_.front().kernels = std::make_shared<const std::map<std::string, Scan>>(std::move(kernels));
}

Findings ProgramScan::of(const Build& build, const std::string& kernel) {
  if (build.kernels) {
    const auto known = build.kernels->find(kernel);
    if (known != build.kernels->end()) return {known->second, {}};
  }
  auto own = build.calls ? build.calls->of(kernel) : std::nullopt;
  if (!own) return build.whole;
  own->add(build.options);
  own->scan.keeps_state |= build.whole.scan.keeps_state;
  return *own;
}

Scan ProgramScan::of(const std::string& kernel) const {
  Scan all;
  for (const Build& build : builds_) all = merge(all, of(build, kernel).scan);
  return all;
}

std::vector<Cause> ProgramScan::causes_of(const std::string& kernel) const {
  Causes all;
  for (const Build& build : builds_) {
    all.add(of(build, kernel).causes.list());
    for (const Cause::Finding finding : {Cause::Finding::keeps_state, Cause::Finding::breaks_prelude}) {
      if (const Cause* cause = build.whole.causes.of(finding)) all.add({*cause});
    }
  }
  return all.list();
}

void ProgramScan::add(const ProgramScan& other) {
  whole_ = merge(whole_, other.whole_);
  causes_.add(other.causes());
  builds_.insert(builds_.end(), other.builds_.begin(), other.builds_.end());
}

}  // namespace cleave::kernels
