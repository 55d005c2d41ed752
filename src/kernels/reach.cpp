#include "kernels/reach.h"

#include <algorithm>
#include <functional>
#include <set>

#include "kernels/lexer.h"

namespace cleave::kernels {

namespace {

// The macros that are defined in a text of directives.
std::set<std::string, std::less<>> macros_of(std::string_view directives) {
  std::set<std::string, std::less<>> macros;
  const Tokens tokens = tokens_of(directives);
  for (std::size_t i = 0; i + 2 < tokens.list.size(); ++i) {
    if (tokens.list[i].directive && tokens.list[i].is("#") && tokens.list[i + 1].is("define"))
      macros.emplace(tokens.list[i + 2].text);
  }
  return macros;
}

}  // namespace

Reach::Reach(const Functions& functions, const std::string& macros) {
  const std::string directives = functions.directives + macros;
  const auto known = macros_of(directives);
  std::string loose;  // of functions that may be called otherwise than it seems
  std::vector<const Function*> list;
  for (const Function& function : functions.list) {
    const bool certain = std::none_of(function.names.begin(), function.names.end(),
                                      [&](std::string_view name) { return known.contains(name); });
    if (!certain) {
      loose.append(function.text).push_back('\n');
      continue;
    }
    for (const std::string_view name : function.names) by_name_[std::string(name)].push_back(list.size());
    list.push_back(&function);
  }
  for (const Function* function : list) {
    scans_.push_back(scan_text(function->text));
    reaches_.push_back(mentioned(function->text));
  }
  outside_ = both(scan_text(functions.declarations + loose), scan_text(directives));
  from_everywhere_ = mentioned(directives + functions.leads + "\n" + loose);
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
  open.insert(open.end(), from_everywhere_.begin(), from_everywhere_.end());
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
