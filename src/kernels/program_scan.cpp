#include "kernels/program_scan.h"

#include <set>
#include <vector>

#include "kernels/functions.h"

namespace cleave::kernels {
namespace {

// Which functions each function may reach, and what that means for it.
class Reach {
 public:
  Reach(const Functions& functions, const std::string& options) : reaches_(functions.list.size()) {
    for (std::size_t i = 0; i < functions.list.size(); ++i) {
      for (const std::string_view name : functions.list[i].names) by_name_[name].push_back(i);
      scans_.push_back(scan_text(functions.list[i].text));
    }
    for (std::size_t i = 0; i < functions.list.size(); ++i) reaches_[i] = mentioned(functions.list[i].text);
    const std::string macros = functions.directives + options;
    outside_ = both(scan_text(functions.declarations), scan_text(macros));
    // A declaration calls nothing; a macro may, from anywhere.
    from_macros_ = mentioned(macros);
  }

  std::map<std::string, Scan> answers() const {
    std::map<std::string, Scan> answers;
    for (const auto& [name, functions] : by_name_) {
      std::set<std::size_t> reached;
      for (const std::size_t function : functions) follow(function, reached);
      for (const std::size_t function : from_macros_) follow(function, reached);
      Scan answer = outside_;
      for (const std::size_t function : reached) answer = both(answer, scans_[function]);
      answers.emplace(name, answer);
    }
    return answers;
  }

 private:
  std::set<std::size_t> mentioned(std::string_view text) const {
    std::set<std::size_t> functions;
    for_each_name(text, [&](std::string_view name) {
      const auto found = by_name_.find(name);
      if (found != by_name_.end()) functions.insert(found->second.begin(), found->second.end());
    });
    return functions;
  }

  void follow(std::size_t from, std::set<std::size_t>& reached) const {
    std::vector<std::size_t> open{from};
    while (!open.empty()) {
      const std::size_t function = open.back();
      open.pop_back();
      if (reached.insert(function).second) {
        open.insert(open.end(), reaches_[function].begin(), reaches_[function].end());
      }
    }
  }

  std::map<std::string_view, std::vector<std::size_t>> by_name_;
  std::vector<Scan> scans_;
  std::vector<std::set<std::size_t>> reaches_;
  Scan outside_;
  std::set<std::size_t> from_macros_;
};

}  // namespace

ProgramScan::ProgramScan(std::string_view source, const Surroundings& surroundings) {
  const std::string text = without_splices(source);
  const std::string options = options_as_text(surroundings.options);
  std::vector<std::string> headers;
  for (const std::string& header : surroundings.headers) headers.push_back(without_splices(header));

  std::vector<std::string_view> all{text, options};
  all.insert(all.end(), headers.begin(), headers.end());
  const Scan said = scan_options(surroundings.options);
  whole_ = surroundings.complete ? said : Scan::doubtful();
  for (const std::string_view part : all) whole_ = both(whole_, scan_text(part));
  if (whole_.pastes) whole_ = both(whole_, scan_pasted(all));
  if (whole_.pastes || whole_.includes || !functions_of(options)) return;

  const auto functions = functions_of(text);
  if (!functions) return;
  for (const auto& [name, scan] : Reach(*functions, options).answers())
    by_name_.emplace(name, both(said, scan));
}

Scan ProgramScan::of(const std::string& kernel) const {
  const auto found = by_name_.find(kernel);
  return found != by_name_.end() ? found->second : whole_;
}

void ProgramScan::add(const ProgramScan& other) {
  std::map<std::string, Scan> merged;
  for (const auto& [name, scan] : by_name_) merged.emplace(name, both(scan, other.of(name)));
  whole_ = both(whole_, other.whole_);
  by_name_ = std::move(merged);
}

}  // namespace cleave::kernels
