#include "kernels/reach.h"

#include <algorithm>

namespace cleave::kernels {

Reach::Reach(const Functions& functions, const std::string& macros) {
  for (std::size_t i = 0; i < functions.list.size(); ++i) {
    for (const std::string_view name : functions.list[i].names) by_name_[std::string(name)].push_back(i);
  }
  for (const Function& function : functions.list) {
    scans_.push_back(scan_text(function.text));
    reaches_.push_back(mentioned(function.text));
  }
  // A declaration calls nothing; a macro may, from anywhere.
  const std::string directives = functions.directives + macros;
  outside_ = both(scan_text(functions.declarations), scan_text(directives));
  from_macros_ = mentioned(directives);
}

Reach::Indices Reach::mentioned(std::string_view text) const {
  Indices functions;
  for_each_name(text, [&](std::string_view name) {
    const auto found = by_name_.find(std::string(name));
    if (found != by_name_.end())
      functions.insert(functions.end(), found->second.begin(), found->second.end());
  });
  std::sort(functions.begin(), functions.end());
  functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
  return functions;
}

std::optional<Scan> Reach::of(const std::string& function) const {
  const auto found = by_name_.find(function);
  if (found == by_name_.end()) return std::nullopt;
  Scan answer = outside_;
  std::vector<bool> reached(scans_.size(), false);
  Indices open = found->second;
  open.insert(open.end(), from_macros_.begin(), from_macros_.end());
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    if (reached[next]) continue;
    reached[next] = true;
    answer = both(answer, scans_[next]);
    open.insert(open.end(), reaches_[next].begin(), reaches_[next].end());
  }
  return answer;
}

}  // namespace cleave::kernels
