// Where the settings come from: the defaults, then a TOML file, then the environment, which wins.
//
// The file is the one that CLEAVE_CONFIG names, else the first that exists of
// $XDG_CONFIG_HOME/cleave/cleave.toml
// ($HOME/.config in place of an unset $XDG_CONFIG_HOME) and /etc/cleave/cleave.toml.
//
// Not thread-safe: loaded once, read-only from then on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/settings.h"

namespace cleave::base {

// Gives a variable's value or nullptr, as getenv does.
using Environment = std::function<const char*(const char*)>;

// The process's own environment; says nothing to programs that run with other rights than their user's.
Environment process_environment();

struct Configuration {
  // What is in force, for people: the default, the variable's name or FILE:LINE stands in `origin`.
  struct Line {
    std::string key;
    std::string value;
    std::string origin;
    std::string variable;  // the environment variable that sets it; empty where there is none
  };

  Settings settings;
  std::vector<Line> lines;
  // What is wrong, a sentence each that names the setting and the mend. If there are any, settings.policy is
  // `off` and settings.wait `native`: the user asked for something we do not understand, so nothing is
  // changed until it is mended.
  std::vector<std::string> problems;
};

// Never throws; what cannot be read is a problem in the answer.
Configuration load(const Environment& environment);

}  // namespace cleave::base
