// Reads the configuration: the defaults, overridden by a TOML file, overridden by the environment.
//
// The file is the one that CLEAVE_CONFIG names, or else the first that exists of
//   - $XDG_CONFIG_HOME/cleave/cleave.toml ($HOME/.config if XDG_CONFIG_HOME is unset),
//   - /etc/cleave/cleave.toml.
//
// The file's tables [programs."PATTERN"] that match this process's program take precedence over the rest of the file, a later table
// over an earlier one; and the table [tenants."NAME"] of its tenant takes precedence over both.
//
// Not thread-safe: loaded once, read-only from then on.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/regular_file.h"
#include "base/settings/settings.h"

namespace cleave::base {

// Returns a variable's value or nullptr, as getenv does.
using Environment = std::function<const char*(const char*)>;

// The process's environment. Empty in set-uid and similar programs (secure_getenv).
Environment process_environment();

struct Configuration {
  // A setting in force, for display.
  struct Line {
    std::string key;
    std::string value;
    std::string origin;    // "default", the variable's name, or FILE:LINE
    std::string variable;  // the environment variable that sets it; empty if there is none
  };

  Settings settings;
  std::string program;  // the full path of what the process executes; empty if it is not known
  std::vector<Line> lines;
  // Errors: one sentence each that names the setting and what is expected. If there are any, settings.policy is `off`
  // and settings.wait `native`, since we do not know what the user wanted.
  std::vector<std::string> problems;
  // Renamed settings that were accepted, and unusable folders that settings name: one sentence each.
  std::vector<std::string> notices;
  std::string file;  // the full path of the file that was read; empty: there was none
  FileStamp stamp;   // of that file, before it was read

  // The value of a setting for display, by its key in TOML; empty if there is no such setting.
  [[nodiscard]] std::string value_of(std::string_view key) const;
};

// Never throws. Errors are reported in `problems`.
Configuration load(const Environment& environment);
// The same for a process whose tenant and program are already known: whatever the settings say, it keeps that tenant. (The
// program's file may have been replaced since, or a filter of system calls may forbid querying it.)
Configuration load(const Environment& environment, std::string_view tenant, std::string_view program);

}  // namespace cleave::base
