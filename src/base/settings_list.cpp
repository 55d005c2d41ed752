#include <charconv>
#include <fnmatch.h>

#include "base/forever.h"
#include "base/settings.h"

namespace cleave::base {
namespace {

constexpr std::uint64_t kMostSlices = 1'000'000;
constexpr std::uint64_t kMostVms = 100'000;

bool truth(std::string_view text, bool& value) {
  if (text == "1" || text == "true" || text == "yes" || text == "on") return value = true, true;
  if (text == "0" || text == "false" || text == "no" || text == "off") return value = false, true;
  return false;
}

template <typename T>
bool number(std::string_view text, std::uint64_t least, std::uint64_t most, T& value) {
  const auto read = whole_number(text, least, most);
  if (read) value = static_cast<T>(*read);
  return read.has_value();
}

bool policy(Settings& settings, std::string_view text) {
  constexpr std::string_view kFixed = "fixed:";
  using Kind = SplitPolicy::Kind;
  if (text == "off") return settings.policy = {Kind::off, 0}, true;
  if (text == "alpha") return settings.policy = {Kind::alpha, 0}, true;
  if (!text.starts_with(kFixed)) return false;
  SplitPolicy fixed{Kind::fixed, 0};
  if (!number(text.substr(kFixed.size()), 1, kMostSlices, fixed.slices)) return false;
  settings.policy = fixed;
  return true;
}

bool launch_mode(Settings& settings, std::string_view text) {
  if (text == "auto") return settings.launch = LaunchMode::automatic, true;
  if (text == "sequential") return settings.launch = LaunchMode::sequential, true;
  if (text == "queued") return settings.launch = LaunchMode::queued, true;
  return false;
}

bool deny(Settings& settings, std::string_view text) {
  settings.deny.clear();
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (comma != 0) settings.deny.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return true;
}

bool min_items(Settings& settings, std::string_view text) {
  if (text == "cores") return settings.min_items.reset(), true;
  std::size_t items = 0;
  if (!number(text, 0, SIZE_MAX, items)) return false;
  settings.min_items = items;
  return true;
}

bool binaries(Settings& settings, std::string_view text) {
  if (text != "trust" && text != "whole") return false;
  return settings.trust_binaries = text == "trust", true;
}

bool vms(Settings& settings, std::string_view text) {
  unsigned count = 0;
  if (!number(text, 1, kMostVms, count)) return false;
  settings.vms = count;
  return true;
}

}  // namespace

const std::vector<Setting>& settings_list() {
  static Forever<std::vector<Setting>> list(std::vector<Setting>{
      {"CLEAVE_DISABLE", "disable", "false", "true or false",
       [](Settings& s, std::string_view text) { return truth(text, s.disable); }},
      {"CLEAVE_SPLIT", "split.policy", "alpha", "off, alpha or fixed:N with N from 1 to 1000000", policy},
      {"CLEAVE_ALPHA", "split.alpha", "4", "a whole number from 1 to 1000000",
       [](Settings& s, std::string_view text) { return number(text, 1, kMostSlices, s.alpha); }},
      {"CLEAVE_MIN_ITEMS", "split.min_items", "cores",
       "a number of work-items, 0 to switch the rule off, or cores for the device's own number", min_items},
      {"CLEAVE_DENY", "split.deny", "", "kernel names or patterns such as scan_*, separated by commas", deny},
      {"CLEAVE_BINARIES", "split.binaries", "whole", "whole or trust", binaries},
      {"CLEAVE_LAUNCH", "launch.mode", "auto", "auto, sequential or queued", launch_mode},
      {"CLEAVE_VMS", "neighbours.count", "1", "the number of running VMs, from 1 to 100000", vms},
      {"CLEAVE_STATS", "observe.stats", "", "stderr, or the path of a file",
       [](Settings& s, std::string_view text) { return s.stats = text, true; }},
      {"CLEAVE_CACHE", "cache", "~/.cache/cleave", "off, or the path of a folder",
       [](Settings& s, std::string_view text) { return s.cache = text == "off" ? "" : text, true; }},
      {"CLEAVE_NEXT", "next", "", "the path of the OpenCL loader to hand calls to",
       [](Settings& s, std::string_view text) { return s.next = text, true; }},
  });
  return *list;
}

std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end || value < least || value > most)
    return std::nullopt;
  return value;
}

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace cleave::base
