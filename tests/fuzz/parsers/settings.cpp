// Values of environment variables. An input is lines of NAME=VALUE.
#include <algorithm>
#include <map>
#include <string>

#include "base/settings/configuration.h"
#include "base/settings/old_settings.h"
#include "base/text/number.h"
#include "harness.h"

namespace {

using cleave::base::Configuration;
using cleave::base::old_settings;
using cleave::base::Settings;
using cleave::base::settings_list;
using cleave::base::SplitPolicy;
using cleave::fuzz::require;
using Variables = std::map<std::string, std::string>;

constexpr std::uint64_t kMax = 1'000'000;

Variables variables_in(std::string_view text) {
  Variables variables;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view value = line.substr(equals + 1);
    // An environment holds no zero bytes.
    variables[std::string(line.substr(0, equals))] = value.substr(0, value.find('\0'));
  }
  return variables;
}

// No settings file of this machine is read.
Configuration load_only(const Variables& variables) {
  return cleave::base::load([&](const char* name) -> const char* {
    if (std::string_view(name) == "CLEAVE_CONFIG") return "/dev/null";
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

bool same(const Settings& a, const Settings& b) {
  return a.disable == b.disable && a.policy.kind == b.policy.kind && a.policy.slices == b.policy.slices &&
         a.policy.quantum == b.policy.quantum && a.policy.share == b.policy.share &&
         a.policy.budget == b.policy.budget && a.alpha == b.alpha && a.min_items == b.min_items &&
         a.deny == b.deny && a.allow == b.allow && a.launch == b.launch &&
         a.vms.value_or(1) == b.vms.value_or(1) && a.stats == b.stats && a.next == b.next &&
         a.sources.monitor == b.sources.monitor && a.sources.peers == b.sources.peers &&
         a.sources.files == b.sources.files && a.monitor == b.monitor && a.count_by == b.count_by &&
         a.registry == b.registry;
}

void check_ranges(const Settings& settings) {
  require(settings.alpha.is_set(), "alpha is set");
  for (const auto& [vms, alpha] : settings.alpha.rows())
    require(vms >= 1 && vms <= kMax && alpha >= 1 && alpha <= kMax, "alpha is in its range");
  require(settings.vms.value_or(1) >= 1 && settings.vms.value_or(1) <= kMax, "the VMs are in their range");
  require((settings.policy.kind == SplitPolicy::Kind::fixed) == (settings.policy.slices != 0),
          "a number of slices belongs to the policy fixed");
  require(settings.policy.slices <= kMax, "the slices are in their range");
  require((settings.policy.kind == SplitPolicy::Kind::quantum) == (settings.policy.quantum.count() != 0),
          "a quantum belongs to the policy quantum");
  require(settings.policy.quantum.count() >= 0 && settings.policy.quantum <= std::chrono::minutes(1),
          "the quantum is in its range");
  require((settings.policy.kind == SplitPolicy::Kind::pressure) == (settings.policy.share != 0),
          "a target belongs to the policy pressure");
  require(settings.policy.share >= 0 && settings.policy.share < 1, "the target is in its range");
  require(settings.policy.budget >= 0.001 && settings.policy.budget <= 1, "the budget is in its range");
  require(settings.sources.monitor || settings.sources.peers || !settings.sources.files.empty(),
          "at least one source is asked");
  for (const std::string& pattern : settings.deny) {
    require(!pattern.empty() && pattern.find(',') == std::string::npos, "a denied name is one name");
  }
}

void check_lines(const Configuration& configuration, const Variables& variables) {
  Variables in_force;
  for (const auto& line : configuration.lines) {
    in_force[line.variable] = line.value;
    const auto given = variables.find(line.variable);
    const bool from_here = given != variables.end() && !given->second.empty();
    require(line.origin == (from_here ? line.variable : "default"), "a line says where it is from");
    require(!from_here || line.value == given->second, "a line says what was set");
  }
  const Configuration again = load_only(in_force);
  require(again.problems.empty(), "what is in force can be set");
  require(same(again.settings, configuration.settings), "what is in force is what the lines say");
}

void check_whole_number(const std::string& text) {
  const auto number = cleave::base::parse_unsigned(text, 1, kMax);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  require(!number || digits, "a number is digits");
  require(!number || (*number >= 1 && *number <= kMax), "a number is in its range");
  require(number || !digits || text.size() > 6 || text.find_first_not_of('0') == std::string::npos,
          "digits are a number");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Variables variables = variables_in(cleave::fuzz::text_of(data, size));
  const Configuration configuration = load_only(variables);
  check_ranges(configuration.settings);
  require(configuration.lines.size() >= settings_list().size(), "there is a line for each setting");
  for (const auto& [name, value] : variables) check_whole_number(value);
  if (configuration.problems.empty()) {
    check_lines(configuration, variables);
    return 0;
  }
  require(configuration.settings.policy.kind == SplitPolicy::Kind::off, "with a problem nothing is split");
  for (const std::string& problem : configuration.problems) {
    const auto is_named = [&](const auto& setting) { return problem.starts_with(setting.variable); };
    require(std::any_of(settings_list().begin(), settings_list().end(), is_named) ||
                std::any_of(old_settings().begin(), old_settings().end(), is_named),
            "a problem names its variable");
  }
  return 0;
}
