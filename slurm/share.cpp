#include "slurm/share.h"

#include <algorithm>
#include <cstdio>
#include <system_error>

#include "base/files/search_list.h"

namespace cleave::slurm {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostWeight = 10'000;  // of CLEAVE_WEIGHT
constexpr unsigned kWeightOfShard = 100;

// In proportion to the shards, and 100 for each while that fits, as other processes have by default.
unsigned weight_of(const Site& site, unsigned shards) {
  const unsigned each = std::max(1U, std::min(kWeightOfShard, kMostWeight / site.shards));
  return std::min(kMostWeight, shards * each);
}

// In tenths of a percent, rounded down, so that all shards together have no more than the device.
std::string cap_of(const Site& site, unsigned shards) {
  // Device time is counted while a process is alone only if it has a cap (docs/limits.md).
  if (site.cap == Site::Cap::off || shards == site.shards) return site.accounting ? "99.9%" : "off";
  const unsigned permille = std::max(1U, shards * 1000 / site.shards);
  char text[32];
  std::snprintf(text, sizeof text, "%u.%u%%", permille / 10, permille % 10);
  return site.cap == Site::Cap::borrow ? std::string(text) + ",borrow" : text;
}

std::string memory_of(const Site& site, unsigned shards) {
  if (site.memory == 0) return "off";
  // Without overflow: of at most 2^50 bytes and 10000 shards.
  return std::to_string(site.memory / site.shards * shards +
                        site.memory % site.shards * shards / site.shards);
}

Priority priority_of(const Site& site, const Wishes& wishes, std::vector<std::string>& notes) {
  const Priority usual = std::min(Priority::normal, site.highest);
  if (wishes.priority.empty()) return usual;
  const auto wanted = parse_priority(wishes.priority);
  if (!wanted) {
    notes.push_back("--cleave-priority=" + wishes.priority +
                    ": expected high, normal, background or idle; it is " + name(usual));
    return usual;
  }
  if (*wanted <= site.highest) return *wanted;
  notes.push_back("--cleave-priority=" + wishes.priority + " is more than this site allows; it is " +
                  name(site.highest));
  return site.highest;
}

bool is_switched_off(const Site& site, const Wishes& wishes, std::vector<std::string>& notes) {
  if (wishes.cleave != "off") return false;
  if (!site.user_may_switch_off)
    notes.emplace_back("--cleave=off is not allowed by this site, and is ignored");
  return site.user_may_switch_off;
}

// As `cleave run` does it.
void add_libraries(const Libraries& libraries, const Lookup& lookup, std::vector<Variable>& variables) {
  const auto list = [&](const char* variable, base::SearchList first, const char* separators) {
    const base::SearchList rest = base::split(lookup(variable).value_or(""), separators);
    variables.push_back({variable, base::join(base::put_first(std::move(first), rest), ':')});
  };
  list("LD_PRELOAD", {libraries.drop_in, libraries.stub}, " :");
  variables.push_back(
      {base::kSanitizerOptions, base::with_preload_allowed(lookup(base::kSanitizerOptions).value_or(""))});
  list("LD_LIBRARY_PATH", {libraries.drop_in.parent_path()}, ":;");
  list("OPENCL_LAYERS", {libraries.layer}, ":");
}

}  // namespace

Libraries find_libraries(const fs::path& folder) {
  std::error_code ignored;
  const bool has_own = fs::exists(folder / "cleave" / "libOpenCL.so.1", ignored);
  const fs::path drop_ins = has_own ? folder / "cleave" : folder;
  const bool is_private = fs::exists(drop_ins / "libcleave-layer.so", ignored);
  Libraries found{drop_ins / "libOpenCL.so.1", drop_ins / "libOpenCL.so",
                  (is_private ? drop_ins : folder) / "libcleave-layer.so", ""};
  for (const fs::path& library : {found.drop_in, found.stub, found.layer}) {
    if (found.problem.empty() && !fs::exists(library, ignored)) {
      found.problem = library.string() + " is missing: set libraries= to the folder of Cleave's libraries";
    }
  }
  return found;
}

StepSettings settings_of(const Site& site, const Libraries& libraries, const Step& step, const Wishes& wishes,
                         const Lookup& lookup) {
  StepSettings settings;
  if (step.shards == 0 || is_switched_off(site, wishes, settings.notes)) return settings;
  // Slurm gives a step shards of one GPU of a node.
  const unsigned shards = std::min(step.shards, site.shards);
  const auto add = [&](const char* variable, std::string value) {
    if (site.user_may_override && !lookup(variable).value_or("").empty()) return;
    settings.variables.push_back({variable, std::move(value)});
  };
  add("CLEAVE_DISABLE", "false");
  add("CLEAVE_TURNS", site.turns_everywhere ? "on" : "auto");
  add("CLEAVE_WEIGHT", std::to_string(weight_of(site, shards)));
  add("CLEAVE_CAP", cap_of(site, shards));
  add("CLEAVE_MEMORY_LIMIT", memory_of(site, shards));
  add("CLEAVE_PRIORITY", name(priority_of(site, wishes, settings.notes)));
  add("CLEAVE_TENANT", "slurm-" + step.job + "." + step.name);
  add("CLEAVE_REGISTRY", site.registry.empty() ? kDefaultRegistry : site.registry);
  // For the epilog, which reads how much memory they had.
  const std::string stats = lookup("CLEAVE_STATS").value_or("");
  if (site.accounting && !step.folder.empty() && (stats.empty() || stats == "explain")) {
    settings.variables.push_back(
        {"CLEAVE_STATS", stats + (stats.empty() ? "" : ",") + step.folder + "/%p.json"});
  }
  if (site.face == Site::Face::preload) add_libraries(libraries, lookup, settings.variables);
  return settings;
}

}  // namespace cleave::slurm
