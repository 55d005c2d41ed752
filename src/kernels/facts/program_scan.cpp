#include "kernels/facts/program_scan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "kernels/facts/group_order.h"
#include "kernels/facts/program_variables.h"
#include "kernels/prelude/prelude.h"
#include "kernels/text/build_options.h"
#include "kernels/text/functions.h"
#include "kernels/text/unused_macros.h"

namespace cleave::kernels {
namespace {

// Nothing is known of an included text.
Findings anything_because_of(const std::optional<Cause>& missing) {
  Findings all;
  all.scan = Scan::worst_case();
  if (missing) all.causes.note(all.scan, *missing, missing->construct);
  return all;
}

void add_pasted_names(const std::deque<SourceText>& texts, const Tokens& options, Findings& whole) {
  std::vector<const Tokens*> tokens;
  tokens.reserve(texts.size());
  for (const SourceText& text : texts) tokens.push_back(&text.compiled);
  Causes causes = whole.causes;
  const Scan pasted = scan_pasted_names(tokens, options, &causes);
  whole.add({pasted, causes});
  if (!whole.scan.breaks_prelude_if_pasting) return;
  whole.scan.breaks_prelude = true;
  if (const Cause* paste = whole.causes.of(Cause::Finding::pastes_tokens))
    whole.causes.note(whole.scan, *paste, paste->construct);
}

// What the order of work-groups means to a program whose functions may not be distinguishable.
Findings group_order_of_whole(const std::deque<SourceText>& texts, const Options& options) {
  Tokens all;
  for (const SourceText& text : texts)
    all.list.insert(all.list.end(), text.compiled.list.begin(), text.compiled.list.end());
  MacroExpansion macros(all, options);
  macros.read_types(all);
  Findings found;
  const GroupOrder loops = group_order_of(all, macros);
  found.scan.open_loops = loops.open_loops;
  found.scan.may_wait = loops.may_wait;
  for (const SourceText& text : texts) {
    const auto split = split_functions(text.compiled);
    if (!split) continue;
    std::vector<const Function*> functions;
    for (const Function& function : split->list) functions.push_back(&function);
    const std::vector<GroupOrder> order = group_order_of(functions, macros);
    for (std::size_t i = 0; i < order.size(); ++i) {
      found.scan.may_wait |= order[i].may_wait;
      if (order[i].shared.empty()) continue;
      found.scan.shares_stores = true;
      found.causes.note(found.scan, Cause::Way::stores_to, order[i].shared, text.text, functions[i]->name);
    }
  }
  return found;
}

// Texts in memory, of which each may be meant by any #include.
class AnyHeader final : public Headers {
 public:
  explicit AnyHeader(const BuildInputs& inputs) {
    for (std::size_t i = 0; i < inputs.headers.size(); ++i) {
      names_.push_back(i < inputs.header_names.size() ? inputs.header_names[i]
                                                      : "header " + std::to_string(i + 1));
      texts_[names_.back()] = inputs.headers[i];
    }
  }
  std::vector<std::string> find(const std::string& /*name*/, const std::string& /*file*/) override {
    return names_;
  }
  std::string read(const std::string& file) override { return texts_[file]; }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::string> texts_;
};

Preprocessed preprocessed(std::string_view source, const BuildInputs& inputs) {
  AnyHeader headers(inputs);
  return preprocess(source, {inputs.options, inputs.uncertain_options, headers.names()}, headers);
}

// Null if the functions of the program cannot be distinguished.
std::shared_ptr<const CallGraph> call_graph_of(const std::deque<SourceText>& texts, const JoinedText& options,
                                               const Options& parsed) {
  if (!split_functions(tokens_of(options.text()))) return nullptr;
  std::deque<Functions> functions;
  std::vector<CallGraph::Part> parts;
  for (const SourceText& text : texts) {
    auto split = split_functions(text.compiled);
    if (!split || (texts.size() > 1 && !split->ends_between_items)) return nullptr;
    functions.push_back(std::move(*split));
    parts.push_back({&functions.back(), &text});
  }
  return std::make_shared<CallGraph>(parts, options, parsed);
}

}  // namespace

ProgramScan::ProgramScan(std::string_view source, const BuildInputs& inputs)
    : ProgramScan(preprocessed(source, inputs), inputs) {}

ProgramScan::ProgramScan(Preprocessed program, const BuildInputs& inputs) {
  const std::string given = inputs.options + " " + inputs.uncertain_options;
  const JoinedText options(options_as_directive(given), JoinedText::NoLines{});
  const Tokens option_tokens = tokens_of(options.text());
  const Options parsed = parse_options(given);
  std::deque<SourceText>& texts = program.texts;

  Build part;
  part.options.scan = scan_options(given, &part.options.causes);
  part.whole = inputs.complete ? part.options : anything_because_of(inputs.missing);
  part.whole.add(findings_in(option_tokens, options));
  const bool readable =
      std::all_of(texts.begin(), texts.end(), [](const SourceText& text) { return text.tokens.unambiguous; });
  if (readable && option_tokens.unambiguous && !parsed.cpp)
    drop_unused_macros(texts, option_tokens, kReplacedFunctions);
  for (const SourceText& text : texts) {
    part.whole.add(findings_in(text.compiled, text.text));
    part.whole.add(findings_in(text.conditions, text.text));
  }
  part.whole.scan.keeps_state |= has_program_variables(texts, given, &part.whole.causes);
  if (part.whole.scan.pastes_tokens) add_pasted_names(texts, option_tokens, part.whole);

  const Scan& whole = part.whole.scan;
  const bool known = !whole.has_includes || (inputs.complete && !program.missing);
  if (known && !whole.pastes_tokens && !whole.ambiguous && !parsed.cpp)
    part.calls = call_graph_of(texts, options, parsed);
  part.whole.add(part.calls ? part.calls->of_all() : group_order_of_whole(texts, parsed));
  // There are other loops and calls in C++.
  part.whole.scan.may_wait |= parsed.cpp || program.missing.has_value();
  conclude(part.whole);
  whole_ = whole;
  causes_ = part.whole.causes;
  builds_.push_back(std::move(part));
}

ProgramScan::ProgramScan(const Scan& whole, const std::vector<Cause>& causes)
    : whole_(whole), causes_(causes), builds_{{{whole, Causes(causes)}, {}, nullptr}} {}

ProgramScan::ProgramScan(const Scan& whole, const std::map<std::string, Scan>& kernels,
                         const std::map<std::string, Causes>& causes)
    : ProgramScan(whole, causes.contains("") ? causes.at("").list() : std::vector<Cause>{}) {
  std::map<std::string, Findings> findings;
  for (const auto& [name, scan] : kernels)
    findings[name] = {scan, causes.contains(name) ? causes.at(name) : Causes{}};
  builds_.front().kernels = std::make_shared<const std::map<std::string, Findings>>(std::move(findings));
}

Findings ProgramScan::of(const Build& build, const std::string& kernel) {
  if (build.kernels) {
    const auto known = build.kernels->find(kernel);
    if (known != build.kernels->end()) return known->second;
  }
  auto own = build.calls ? build.calls->of(kernel) : std::nullopt;
  if (!own) return build.whole;
  own->add(build.options);
  own->scan.keeps_state |= build.whole.scan.keeps_state;
  return *own;
}

Scan ProgramScan::of(const std::string& kernel) const { return findings_of(kernel).scan; }

Findings ProgramScan::findings_of(const std::string& kernel) const {
  Findings all;
  for (const Build& build : builds_) {
    all.add(of(build, kernel));
    for (const Cause::Finding finding : {Cause::Finding::keeps_state, Cause::Finding::breaks_prelude}) {
      if (const Cause* cause = build.whole.causes.of(finding)) all.causes.add({*cause});
    }
  }
  conclude(all);
  return all;
}

std::vector<Cause> ProgramScan::causes_of(const std::string& kernel) const {
  return findings_of(kernel).causes.list();
}

void ProgramScan::add(const ProgramScan& other) {
  whole_ = merge(whole_, other.whole_);
  causes_.add(other.causes());
  builds_.insert(builds_.end(), other.builds_.begin(), other.builds_.end());
}

}  // namespace cleave::kernels
