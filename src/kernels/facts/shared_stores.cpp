#include "kernels/facts/shared_stores.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace cleave::kernels {
namespace {

// What a function does with a parameter, by itself or by what it calls.
struct Use {
  bool reads = false;
  bool writes = false;
};

class Program {
 public:
  explicit Program(const std::vector<FunctionStores>& functions) {
    for (const FunctionStores& function : functions) uses_[function.name].resize(function.parameters.size());
    // Each round follows the calls one level further.
    constexpr int kMaxLevels = 16;
    bool changed = true;
    for (int level = 0; changed && level < kMaxLevels; ++level) {
      changed = false;
      for (const FunctionStores& function : functions) changed |= follow(function);
    }
  }

  [[nodiscard]] std::string_view shared_in(const FunctionStores& function) const {
    for (std::size_t pointer = 0; pointer < function.pointers.size(); ++pointer) {
      if (is_shared(function, pointer)) return function.pointers[pointer];
    }
    return {};
  }

 private:
  [[nodiscard]] Use use_of(const Access& access) const {
    if (access.callee.empty()) return {access.reads, access.writes};
    const auto found = uses_.find(access.callee);
    if (found == uses_.end() || access.argument >= found->second.size()) return {true, true};
    return found->second[access.argument];
  }

  bool follow(const FunctionStores& function) {
    bool changed = false;
    std::vector<Use>& uses = uses_[function.name];
    uses.resize(std::max(uses.size(), function.parameters.size()));
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      const auto& parameter = function.parameters[i];
      Use use = uses[i];
      use.reads |= parameter.constant;
      for (const Access& access : function.accesses) {
        if (!parameter.followed || access.pointer != parameter.pointer) continue;
        const Use made = use_of(access);
        use.reads |= made.reads;
        use.writes |= made.writes;
      }
      changed |= use.reads != uses[i].reads || use.writes != uses[i].writes;
      uses[i] = use;
    }
    return changed;
  }

  [[nodiscard]] bool is_shared(const FunctionStores& function, std::size_t pointer) const {
    std::set<std::string> stored;
    std::set<std::string> read;
    std::set<std::string_view> constants;
    bool passed = false;  // to a function of the program that only reads
    bool by_several = false;
    bool variable = false;
    for (const Access& access : function.accesses) {
      if (access.pointer != pointer) continue;
      const Use use = use_of(access);
      if (use.writes) stored.insert(access.element);
      if (use.reads) read.insert(access.element);
      passed |= use.reads && !use.writes && !access.callee.empty();
      if (use.writes && !is_own(access, function)) {
        by_several = true;
        variable |= access.value.empty();
        constants.insert(access.value);
      }
    }
    if (stored.empty()) return false;
    if (by_several && (variable || constants.size() > 1 || !read.empty())) return true;
    if (passed) return true;
    return std::any_of(read.begin(), read.end(),
                       [&](const std::string& element) { return !stored.contains(element); });
  }

  static bool is_own(const Access& access, const FunctionStores& function) {
    return access.dimensions != 0 && (function.dimensions & ~access.dimensions) == 0;
  }

  std::map<std::string_view, std::vector<Use>> uses_;
};

}  // namespace

std::vector<std::string_view> find_shared_stores(const std::vector<FunctionStores>& functions) {
  const Program program(functions);
  std::vector<std::string_view> shared;
  shared.reserve(functions.size());
  for (const FunctionStores& function : functions) shared.push_back(program.shared_in(function));
  return shared;
}

}  // namespace cleave::kernels
