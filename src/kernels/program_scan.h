// The scan of a whole program, kernel by kernel: one kernel that sees the cut must not keep the others whole.
//
// The text is taken apart into its functions by matching braces. A kernel's answer is that of its own
// function, of every function that it may reach, and of all text outside of functions: declarations, and
// every directive wherever it stands, since a macro may bring its text in anywhere. A function may reach
// another if it mentions its name. Names outside of functions count for every kernel, but for those that are
// declared there, and so does a body where macros make it uncertain whose it is.
//
// Taking a text apart is only right if its braces mean the same whatever the preprocessor does. So every
// macro, every branch of a conditional and every pair of parentheses must be balanced in itself. Otherwise,
// where other text is included or names are pasted together, in C++ (where functions are called without being
// named), and for kernels that are no function of the text, the answer is that of the whole text.
//
// Source: OpenCL C 3.0, section 6.1; C99 5.1.1.2, 6.4 and 6.10.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/call_graph.h"
#include "kernels/source_scan.h"

namespace cleave::kernels {

// What a program is built with.
struct BuildInputs {
  std::string options;
  std::vector<std::string> headers;  // the texts that it includes, and those that they include
  bool complete = true;              // every one of them is there
};

class ProgramScan {
 public:
  // May throw std::bad_alloc.
  explicit ProgramScan(std::string_view source, const BuildInputs& inputs = {});

  // A program without a text of its own, of which all that is known is `whole`.
  explicit ProgramScan(const Scan& whole);

  // What holds for the kernel of that name. Thread-safe; takes time linear in the size of the program.
  [[nodiscard]] Scan of(const std::string& kernel) const;

  // What holds for the whole text, whatever is called. Thread-safe.
  [[nodiscard]] const Scan& whole() const { return whole_; }

  // From now on, what holds here or there.
  void add(const ProgramScan& other);

 private:
  // One build of the program.
  struct Build {
    Scan whole;
    Scan options;
    std::shared_ptr<const CallGraph> calls;  // null where the text could not be taken apart
  };

  Scan whole_;
  std::vector<Build> builds_;
};

}  // namespace cleave::kernels
