#include "cli/doctor/spelling.h"

#include <algorithm>
#include <unistd.h>

namespace cleave::cli {
namespace {

constexpr std::string_view prefix = "CLEAVE_";

std::string nearest(std::string_view variable, const std::vector<std::string>& known) {
  const std::string_view name = variable.substr(prefix.size());
  std::string_view found;
  std::size_t best = 0;
  for (const std::string& full : known) {
    const std::string_view candidate = std::string_view(full).substr(prefix.size());
    // One wrong letter always counts as a typo; otherwise at most a third of the letters may be wrong.
    const std::size_t allowed = std::max<std::size_t>(1, candidate.size() / 3);
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > allowed || (!found.empty() && distance >= best)) continue;
    best = distance;
    found = candidate;
  }
  return found.empty() ? "" : std::string(prefix).append(found);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: the one before the last (for swaps), the last, and the current one.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::vector<Misspelt> misspelt_variables(const std::vector<std::string>& known) {
  std::vector<Misspelt> misspelt;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view variable = text.substr(0, text.find('='));
    if (!variable.starts_with(prefix)) continue;
    if (std::find(known.begin(), known.end(), variable) != known.end()) continue;
    misspelt.push_back({std::string(variable), nearest(variable, known)});
  }
  return misspelt;
}

}  // namespace cleave::cli
