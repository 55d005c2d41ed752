#include "base/settings/old_settings.h"

#include <string>

namespace cleave::base {
namespace {

// Parses the value as that of a present setting.
bool apply_as(Settings& settings, std::string_view key, std::string_view text) {
  return find_setting(key)->apply(settings, text);
}

bool apply_budget(Settings& settings, std::string_view text) {
  Settings parsed;
  if (!apply_as(parsed, "split.policy", "budget:" + std::string(text))) return false;
  settings.policy.budget = parsed.policy.budget;
  return true;
}

bool apply_monitor(Settings& settings, std::string_view text) {
  Settings parsed;
  if (!apply_as(parsed, "neighbours.source", text) || !parsed.monitor) return false;
  settings.monitor = parsed.monitor;
  return true;
}

bool apply_count_by(Settings& settings, std::string_view text) {
  if (text != "running" && text != "busy") return false;
  settings.count_by = text == "busy" ? CountBy::busy : CountBy::running;
  return true;
}

bool apply_icd_name(Settings& settings, std::string_view text) {
  settings.original_name = text == "original";
  return text == "original" || text == "cleave";
}

bool apply_remote_name(Settings& settings, std::string_view text) {
  settings.remote.original_name = text == "original";
  return text == "original" || text == "remote";
}

bool apply_required(Settings& settings, std::string_view text) {
  Settings parsed;
  if (!apply_as(parsed, "disable", text)) return false;
  settings.remote.required = parsed.disable;
  return true;
}

bool apply_binaries(Settings& settings, std::string_view text) {
  settings.trust_binaries = text == "trust";
  return text == "trust" || text == "unsplit" || text == "whole";
}

bool apply_monitor_trust(Settings& settings, std::string_view text) {
  Settings parsed;
  if (!apply_as(parsed, "neighbours.source", "trust:" + std::string(text))) return false;
  settings.monitor_trust = parsed.monitor_trust;
  return true;
}

bool apply_explain(Settings& settings, std::string_view text) {
  Settings parsed;
  if (!apply_as(parsed, "disable", text)) return false;
  settings.explain = parsed.disable;
  return true;
}

bool apply_key(Settings& settings, std::string_view text) { return settings.remote.key = text, true; }

constexpr OldSetting kOldSettings[] = {
    {"CLEAVE_BUDGET", "split.budget", "CLEAVE_SPLIT=budget:SHARE", apply_budget,
     "a share from 0.001 to 1, such as 0.05"},
    {"CLEAVE_ALPHA_MAX", "split.alpha_max", "budget and pressure make at most 100 slices for each VM"},
    {"CLEAVE_BINARIES", "split.binaries", "CLEAVE_ALLOW=binary:*", apply_binaries, "unsplit or trust"},
    {"CLEAVE_COUNT_BY", "neighbours.count_by", "CLEAVE_NEIGHBOURS=busy", apply_count_by, "running or busy"},
    {"CLEAVE_MONITOR", "neighbours.monitor", "the address in CLEAVE_NEIGHBOURS", apply_monitor,
     "unix:PATH, tcp:HOST:PORT or vsock:CID:PORT, where cleave-monitord listens"},
    {"CLEAVE_MAX_AGE", "neighbours.max_age", "a count holds for 10 seconds without confirmation"},
    {"CLEAVE_STALE", "neighbours.stale", "the last count holds until there is another"},
    {"CLEAVE_MAX_VMS", "neighbours.max_count",
     "a source may report at most 256 VMs; CLEAVE_VMS may be larger"},
    {"CLEAVE_MONITOR_TRUST", "neighbours.trust", "CLEAVE_NEIGHBOURS=trust:system or trust:any",
     apply_monitor_trust, "system, owner or any"},
    {"CLEAVE_EXPLAIN", "observe.explain", "CLEAVE_STATS=explain", apply_explain, "true or false"},
    {"CLEAVE_TOP", "observe.top", "cleave top shows every process but those with CLEAVE_REGISTRY=off"},
    {"CLEAVE_ICD_NAME", "icd.name", "CLEAVE_PLATFORM_NAMES=original or marked", apply_icd_name,
     "original or cleave"},
    {"CLEAVE_REMOTE_NAME", "remote.name", "CLEAVE_PLATFORM_NAMES=original or marked", apply_remote_name,
     "remote or original"},
    {"CLEAVE_REMOTE_REQUIRED", "remote.required", "CLEAVE_REMOTE_PREFER=required", apply_required,
     "true or false"},
    {"CLEAVE_REMOTE_KEY", "remote.key", "CLEAVE_REMOTE_CERT=CERTIFICATE,KEY", apply_key},
    {"CLEAVE_REMOTE_COPY_THREADS", "remote.copy_threads",
     "a quarter of the processors copy large data, four threads at most"},
};

}  // namespace

std::span<const OldSetting> old_settings() { return kOldSettings; }

const OldSetting* find_old_setting(std::string_view key) {
  for (const OldSetting& old : kOldSettings) {
    if (key == old.key) return &old;
  }
  return nullptr;
}

}  // namespace cleave::base
