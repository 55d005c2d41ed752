// The call graph of a program, and what each function may do together with all that it may call.
//
// Thread-safe once constructed. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/functions.h"
#include "kernels/source_scan.h"

namespace cleave::kernels {

class CallGraph {
 public:
  // `functions` are those of `text`. `macros` are the build options as directives, which may be expanded anywhere, so every
  // function may call the functions that they name. `defined` are the names that they define. The arguments need not outlive
  // the constructor.
  CallGraph(const Functions& functions, const JoinedText& text, const JoinedText& macros,
            const std::vector<std::string>& defined);

  // What the function, and all that it may call, may do, and why. Empty if there is no such function. Takes time linear
  // in the size of the program.
  [[nodiscard]] std::optional<Findings> of(const std::string& function) const;

 private:
  using Indices = std::vector<std::size_t>;
  [[nodiscard]] Indices functions_named_in(const Tokens& tokens) const;

  std::unordered_map<std::string, Indices> by_name_;
  std::vector<Findings> findings_;
  std::vector<Indices> reaches_;
  Indices reachable_from_all_;
  Findings outside_;
};

}  // namespace cleave::kernels
