// The call graph of a program, and what each function may do together with all that it may call.
//
// Thread-safe once constructed. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/functions.h"
#include "kernels/source_scan.h"

namespace cleave::kernels {

class CallGraph {
 public:
  // `macros` is text that may be expanded anywhere, so every function may call the functions that it names.
  // `defined` are the names that it defines. The arguments need not outlive the constructor.
  CallGraph(const Functions& functions, const std::string& macros, const std::vector<std::string>& defined);

  // What the function, and all that it may call, may do. Empty if there is no such function. Takes time linear
  // in the size of the program.
  [[nodiscard]] std::optional<Scan> of(const std::string& function) const;

 private:
  using Indices = std::vector<std::size_t>;
  [[nodiscard]] Indices functions_named_in(std::string_view text) const;

  std::unordered_map<std::string, Indices> by_name_;
  std::vector<Scan> scans_;
  std::vector<Indices> reaches_;
  Indices reachable_from_all_;
  Scan outside_;
};

}  // namespace cleave::kernels
