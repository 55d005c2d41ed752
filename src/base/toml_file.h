// Reads a settings file into plain keys and texts. The only place that knows of the TOML library.
#pragma once

#include <string>
#include <vector>

namespace cleave::base {

// A value of the file: "split.alpha" = "8" at line 3. Numbers and booleans are given as text; arrays of
// strings joined by commas. Keys of the tables kernels and devices hold the pattern as it stands:
// "kernels.mm*.alpha" comes as path
// {"kernels", "mm*", "alpha"}.
struct TomlValue {
  std::vector<std::string> path;
  std::string text;
  unsigned line = 0;
};

struct TomlFile {
  bool exists = false;
  std::string error;  // empty, or "LINE: what is wrong"
  std::vector<TomlValue> values;
};

// Never throws.
TomlFile read_toml(const std::string& path);

}  // namespace cleave::base
