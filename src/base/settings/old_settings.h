// Names that settings once had. Each is still accepted in the environment and in the file, with one line on standard error; it has its
// old meaning if there is still a setting for it; otherwise the value is now a constant, and the line names it.
//
// A table of them is in docs/configuration.md, and a test compares it with this one.
#pragma once

#include <span>
#include <string_view>

#include "base/settings/settings.h"

namespace cleave::base {

struct OldSetting {
  const char* variable;
  const char* key;
  const char* instead;  // what to write, or what holds now
  // Null: the value is ignored.
  bool (*apply)(Settings&, std::string_view) = nullptr;
  const char* expected = "";
};

std::span<const OldSetting> old_settings();

// Null if there is none.
const OldSetting* find_old_setting(std::string_view key);

}  // namespace cleave::base
