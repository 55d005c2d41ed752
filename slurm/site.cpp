#include "slurm/site.h"

#include "base/settings/share.h"
#include "base/text/number.h"

namespace cleave::slurm {
namespace {

constexpr unsigned kMostShards = 10'000;

bool set_flag(bool& flag, std::string_view value) {
  flag = value == "yes";
  return flag || value == "no";
}

// A folder's absolute path, which can be in a list of paths.
bool set_folder(std::string& folder, std::string_view value) {
  folder = value;
  return value.starts_with('/') && value.find_first_of(": ;") == std::string_view::npos;
}

bool set_shards(Site& site, std::string_view value) {
  const auto number = base::parse_unsigned(value, 1, kMostShards);
  site.shards = static_cast<unsigned>(number.value_or(0));
  return number.has_value();
}

bool set_memory(Site& site, std::string_view value) {
  const auto bytes = base::parse_size(value);
  site.memory = bytes.value_or(0);
  return bytes && *bytes > 0;
}

bool set_cap(Site& site, std::string_view value) {
  if (value == "off") site.cap = Site::Cap::off;
  if (value == "borrow") site.cap = Site::Cap::borrow;
  if (value == "hard") site.cap = Site::Cap::hard;
  return value == "off" || value == "borrow" || value == "hard";
}

bool set_face(Site& site, std::string_view value) {
  site.face = value == "registered" ? Site::Face::registered : Site::Face::preload;
  return value == "registered" || value == "preload";
}

bool set_turns(Site& site, std::string_view value) {
  site.turns_everywhere = value == "on";
  return value == "on" || value == "auto";
}

bool set_priority(Site& site, std::string_view value) {
  const auto priority = parse_priority(value);
  site.highest = priority.value_or(Priority::normal);
  return priority.has_value();
}

struct Word {
  std::string_view name;
  const char* expected;
  bool (*set)(Site&, std::string_view);
};

constexpr Word kWords[] = {
    {"shards", "the number of shards of one GPU, from 1 to 10000", set_shards},
    {"memory", "the bytes of one GPU's memory, such as 80G", set_memory},
    {"cap", "borrow, hard or off", set_cap},
    {"face", "preload or registered", set_face},
    {"turns", "auto or on", set_turns},
    {"override", "yes or no",
     [](Site& site, std::string_view value) { return set_flag(site.user_may_override, value); }},
    {"off", "yes or no",
     [](Site& site, std::string_view value) { return set_flag(site.user_may_switch_off, value); }},
    {"priority", "high, normal, background or idle", set_priority},
    {"accounting", "yes or no",
     [](Site& site, std::string_view value) { return set_flag(site.accounting, value); }},
    {"registry", "an absolute path",
     [](Site& site, std::string_view value) { return set_folder(site.registry, value); }},
    {"libraries", "an absolute path",
     [](Site& site, std::string_view value) { return set_folder(site.libraries, value); }},
    {"jobs", "an absolute path",
     [](Site& site, std::string_view value) { return set_folder(site.jobs, value); }},
};

// What is wrong with the word; empty if nothing is.
std::string apply(Site& site, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  for (const Word& known : kWords) {
    if (known.name != name) continue;
    const std::string_view value = name.size() < word.size() ? word.substr(name.size() + 1) : "";
    if (known.set(site, value)) return {};
    return std::string(word) + ": expected " + known.expected;
  }
  std::string names;
  for (const Word& known : kWords) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return std::string(word) + ": expected one of " + names;
}

}  // namespace

std::optional<Priority> parse_priority(std::string_view text) {
  for (const Priority each : {Priority::idle, Priority::background, Priority::normal, Priority::high}) {
    if (text == name(each)) return each;
  }
  return std::nullopt;
}

const char* name(Priority priority) {
  switch (priority) {
    case Priority::idle:
      return "idle";
    case Priority::background:
      return "background";
    case Priority::normal:
      return "normal";
    case Priority::high:
      break;
  }
  return "high";
}

ParsedSite parse_site(const std::vector<std::string_view>& words) {
  ParsedSite parsed;
  for (const std::string_view word : words) {
    parsed.problem = apply(parsed.site, word);
    if (!parsed.problem.empty()) return parsed;
  }
  if (parsed.site.shards == 0)
    parsed.problem = "shards= is missing: expected the number of shards of one GPU";
  return parsed;
}

}  // namespace cleave::slurm
