#include "interpose/explain/kernel_findings.h"

#include <algorithm>
#include <utility>

#include "kernels/facts/cause.h"

namespace cleave::interpose {
namespace {

using kernels::Cause;
using plan::UnsplitReason;
using Source = plan::Kernel::Source;

// Why a program that needs the prelude does not have it, if that is not in its source.
KernelFinding describe(NoPrelude why) {
  switch (why) {
    case NoPrelude::text:
      return {
          {"its program begins with a byte order mark, or uses names that begin with __cleave_", {}, {}, 0},
          "remove them"};
    case NoPrelude::remote:
      return {{"the device is a server's, which splits by itself", {}, {}, 0},
              "nothing here; the statistics of cleave-serverd say what it splits"};
    case NoPrelude::concurrent:
      return {{"its program was being built by several threads", {}, {}, 0}, "build it in one thread"};
    case NoPrelude::build:
      return {{"its program does not build with the prelude, or would show it", {}, {}, 0}, {}};
    case NoPrelude::linked:
      return {{"a program that it is linked from has no prelude", {}, {}, 0},
              "compile all of them from source, for the same devices"};
    case NoPrelude::il:
      return {{"it comes from SPIR-V, which gets no prelude", {}, {}, 0},
              "create the program from its source"};
    default:
      return {};
  }
}

std::string advice_for(const Cause& cause) {
  const std::string construct = "`" + cause.construct + "`";
  switch (cause.way) {
    case Cause::Way::uses:
      if (cause.finding == Cause::Finding::assembly) {
        return "do without " + construct +
               "; or, if it does not see its work-group, name the kernel in CLEAVE_ALLOW";
      }
      return cause.finding == Cause::Finding::opaque || cause.finding == Cause::Finding::breaks_prelude
                 ? "do without " + construct + " in the kernel and in what it calls"
                 : "";
    case Cause::Way::changes:
      return "call " + construct + ", but do not declare, define or test that name";
    case Cause::Way::makes_text:
      return "do without `#` and `defined` in macros";
    case Cause::Way::pastes:
      return "write " + construct + " out instead of pasting it";
    case Cause::Way::directive:
      return "remove " + construct;
    case Cause::Way::not_found:
      return "let the build find " + construct +
             " (-I FOLDER, or a header of clCompileProgram), or remove the line";
    case Cause::Way::named_by_macro:
      return "include the file by its name";
    case Cause::Way::unreadable:
      return "write it in a way that all compilers read alike";
    case Cause::Way::option:
      return "build without " + construct;
    case Cause::Way::unsure_of_folders:
      return "do without " + construct + ", or without included files";
    default:
      return "";
  }
}

// The findings in one kernel's program.
class ProgramFindings {
 public:
  ProgramFindings(const std::string& kernel, const ProgramRecord& program)
      : causes_(program.scan->causes_of(kernel)),
        no_prelude_(program.no_prelude),
        has_source_(program.source != nullptr),
        from_binary_(!has_source_ && program.origin != 0) {}

  FindingsByReason of(const KernelRecord& kernel) && {
    const Source source = kernel.facts.source;
    if (source == Source::unsplittable) add_unsplittable();
    if (source == Source::untaggable || source == Source::tagged) {
      for (const UnsplitReason why :
           {UnsplitReason::no_tags, UnsplitReason::untagged_build, UnsplitReason::no_room_for_tag})
        add(why, Cause::Finding::reads_ndrange);
    }
    if (kernel.facts.may_wait) add(UnsplitReason::waiting_groups, Cause::Finding::communicates);
    if (kernel.has_program_variables) add(UnsplitReason::variable_copies, Cause::Finding::keeps_state);
    return std::move(found_);
  }

 private:
  // Returns whether there is such a cause.
  bool add(UnsplitReason reason, Cause::Finding finding) {
    const auto cause = std::find_if(causes_.begin(), causes_.end(),
                                    [finding](const Cause& each) { return each.finding == finding; });
    if (cause == causes_.end()) return false;
    const bool of_binary = from_binary_ && cause->line != 0;
    const std::string text = kernels::sentence(*cause) + (of_binary ? " (of the source of its binary)" : "");
    found_[reason].push_back({{text, cause->construct, cause->file, cause->line}, advice_for(*cause)});
    return true;
  }

  // Either it leaves the language, or it needs the prelude, which its program does not have.
  void add_unsplittable() {
    if (add(UnsplitReason::kernel, Cause::Finding::opaque)) return;
    if (add(UnsplitReason::kernel, Cause::Finding::assembly)) return;
    add(UnsplitReason::kernel, Cause::Finding::reads_ndrange);
    if (no_prelude_ == NoPrelude::source) add(UnsplitReason::kernel, Cause::Finding::breaks_prelude);
    const KernelFinding other = describe(no_prelude_);
    if (!other.finding.text.empty()) found_[UnsplitReason::kernel].push_back(other);
    if (!has_source_ && !found_.contains(UnsplitReason::kernel)) {
      found_[UnsplitReason::kernel].push_back(
          {{"its binary was built from such source; what it was in the source is not kept", {}, {}, 0}, {}});
    }
  }

  const std::vector<Cause> causes_;
  const NoPrelude no_prelude_;
  const bool has_source_;
  const bool from_binary_;
  FindingsByReason found_;
};

}  // namespace

FindingsByReason findings_of(const std::string& name, const KernelRecord& kernel,
                             const ProgramRecord* program) {
  if (program == nullptr || !program->scan) return {};
  return ProgramFindings(name, *program).of(kernel);
}

void KernelFindings::add(const std::string& kernel, const FindingsByReason& findings) {
  if (findings.empty()) return;
  const base::MutexLock lock(mutex_);
  if (by_name_.size() >= kMaxNames && !by_name_.contains(kernel)) return;
  FindingsByReason& kept = by_name_[kernel];
  for (const auto& [reason, more] : findings) {
    std::vector<KernelFinding>& list = kept[reason];
    for (const KernelFinding& each : more) {
      if (list.size() < kMaxFindings && std::find(list.begin(), list.end(), each) == list.end())
        list.push_back(each);
    }
  }
}

std::vector<KernelFinding> KernelFindings::of(const std::string& kernel, UnsplitReason reason) const {
  const base::MutexLock lock(mutex_);
  const auto named = by_name_.find(kernel);
  if (named == by_name_.end()) return {};
  const auto found = named->second.find(reason);
  return found != named->second.end() ? found->second : std::vector<KernelFinding>{};
}

}  // namespace cleave::interpose
