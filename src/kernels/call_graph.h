// Which functions of a program each of its functions may reach, and what that means for it.
//
// Thread-safe once made. May throw std::bad_alloc.
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
  // `macros` is text that may be brought in anywhere: what it mentions, every function may reach. `defined`
  // are the names to which it gives a meaning. Nothing of what is given needs to live on.
  CallGraph(const Functions& functions, const std::string& macros, const std::vector<std::string>& defined);

  // What the function of that name, and all that it may reach, may do. Empty if there is no such function.
  // Takes time linear in the size of the program.
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
