#include "base/old_settings.h"

namespace cleave::base {
namespace {

constexpr OldSetting kOldSettings[] = {
    {"CLEAVE_ALPHA_MAX", "split.alpha_max", "budget and pressure make at most 100 slices for each VM"},
    {"CLEAVE_MAX_AGE", "neighbours.max_age", "a count holds for 10 seconds without confirmation"},
    {"CLEAVE_STALE", "neighbours.stale", "the last count holds until there is another"},
    {"CLEAVE_MAX_VMS", "neighbours.max_count", "of a source 256 VMs are believed; CLEAVE_VMS may say more"},
    {"CLEAVE_TOP", "observe.top", "cleave top shows every process but those with CLEAVE_REGISTRY=off"},
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
