// The call graph of a program, and what each function may do together with all that it may call. A macro counts for the
// functions that name it, directly or through other functions and macros.
//
// Thread-safe once constructed. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/facts/source_scan.h"
#include "kernels/text/build_options.h"
#include "kernels/text/functions.h"
#include "kernels/text/macro_expansion.h"
#include "kernels/text/preprocess.h"

namespace cleave::kernels {

class CallGraph {
 public:
  // `options` are the build options as directives, of which every function may use the macros that they define, and `parsed` the
  // same options. The same holds for what is outside of functions and macros. The arguments need not outlive the constructor.
  struct Part {
    const Functions* functions;
    const SourceText* source;
  };
  CallGraph(const std::vector<Part>& parts, const JoinedText& options, const Options& parsed);

  // What the function, and all that it may call, may do, and why. Empty if there is no such function. Takes time linear
  // in the size of the program.
  [[nodiscard]] std::optional<Findings> of(const std::string& function) const;

  // What any of the functions may do.
  [[nodiscard]] Findings of_all() const;

 private:
  using Indices = std::vector<std::size_t>;
  using Names = std::unordered_map<std::string, Indices>;

  // A function, the text that it is in, and its node; none if macros hide what it is called.
  struct Seen {
    const Function* function;
    const JoinedText* text;
    std::optional<std::size_t> node;
  };

  // A function, or the definition of a macro.
  struct Node {
    Findings findings;
    Indices reaches;
  };

  void add_part(const Part& part, const MacroExpansion& macros, Tokens& callers, Tokens& users,
                std::vector<Seen>& seen);
  void add_group_order(const std::vector<Part>& parts, const std::vector<Seen>& seen, MacroExpansion& macros);
  static void add_named(const Tokens& tokens, const Names& names, Indices& found);
  [[nodiscard]] Indices all_named_in(const Tokens& tokens) const;

  Names functions_;
  Names macros_;
  std::vector<Node> nodes_;
  std::vector<Tokens> bodies_;  // of each node; empty after construction
  Indices reachable_from_all_;
  Findings outside_;
};

}  // namespace cleave::kernels
