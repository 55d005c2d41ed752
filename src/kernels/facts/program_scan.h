// Scans a program kernel by kernel, so that one kernel that notices the cut does not keep the others unsplit.
//
// The text is split into its functions by matching braces. The result for a kernel covers its own function,
// every function that it may call, and all text outside of functions: declarations, and all directives, since a
// macro may be expanded anywhere. A function may call another if it contains its name. Names outside of
// functions count for every kernel, except those that are declared there, and so do bodies if macros may change
// whose they are.
//
// Splitting is only valid if the braces match whatever the preprocessor does. So every macro, every branch of a
// conditional and every pair of parentheses must be balanced. Otherwise, and if text is included or names are
// pasted, in C++ (where functions are called without being named), and for kernels that are not found in the
// text, the result covers the whole text.
//
// Source: OpenCL C 3.0, section 6.1; C99 5.1.1.2, 6.4 and 6.10.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/facts/call_graph.h"
#include "kernels/facts/source_scan.h"
#include "kernels/text/preprocess.h"

namespace cleave::kernels {

// The inputs of a build besides the source.
struct BuildInputs {
  std::string options;
  std::vector<std::string>
      headers;           // the included texts, direct and indirect; each #include may mean any of them
  bool complete = true;  // all of them were found
  std::vector<std::string> header_names;  // the path or name of each header; may have fewer
  std::optional<Cause> missing;           // if not complete: why, with any finding
  std::string uncertain_options;          // more options, which only some compilers get
};

class ProgramScan {
 public:
  // May throw std::bad_alloc.
  explicit ProgramScan(std::string_view source, const BuildInputs& inputs = {});

  // The same for texts that are preprocessed, with the options of `inputs`; its headers are ignored. May throw
  // std::bad_alloc.
  ProgramScan(Preprocessed program, const BuildInputs& inputs);

  // A program without source, with the given properties and their causes.
  explicit ProgramScan(const Scan& whole, const std::vector<Cause>& causes = {});

  // The same, with the results of some of its kernels, and causes by kernel; those of "" are the whole program's.
  ProgramScan(const Scan& whole, const std::map<std::string, Scan>& kernels,
              const std::map<std::string, Causes>& causes = {});

  // The result for one kernel. Thread-safe; takes time linear in the size of the program.
  [[nodiscard]] Scan of(const std::string& kernel) const;

  // The same with the causes, which may be incomplete: see causes_of().
  [[nodiscard]] Findings findings_of(const std::string& kernel) const;

  // The result for the whole text, whatever is called. Thread-safe.
  [[nodiscard]] const Scan& whole() const { return whole_; }

  // The first cause of each of the findings of of(kernel) that Cause::Finding lists, in no particular order. A finding
  // may have none if the program has no source. breaks_prelude is the whole program's, since that decides. Thread-safe;
  // takes time linear in the size of the program.
  [[nodiscard]] std::vector<Cause> causes_of(const std::string& kernel) const;

  // The same for whole(). Thread-safe.
  [[nodiscard]] const std::vector<Cause>& causes() const { return causes_.list(); }

  // Merges another build of the program into this one.
  void add(const ProgramScan& other);

 private:
  // One build of the program.
  struct Build {
    Findings whole;
    Findings options;
    std::shared_ptr<const CallGraph> calls;  // null if the text could not be split
    // Without source: the findings in some kernels. Null: none.
    std::shared_ptr<const std::map<std::string, Findings>> kernels = nullptr;
  };

  // What one build says of a kernel.
  static Findings of(const Build& build, const std::string& kernel);

  Scan whole_;
  Causes causes_;
  std::vector<Build> builds_;
};

}  // namespace cleave::kernels
