// Reads a TOML settings file into plain keys and texts. The TOML library is used nowhere else.
#pragma once

#include <string>
#include <vector>

namespace cleave::base {

// A value of the file, as text: numbers and booleans as they would be written, arrays of strings joined by commas.
// `path` holds the parts of its key: {"split", "alpha"}, or {"kernels", "mm*", "alpha"} where a part is a pattern.
struct TomlValue {
  std::vector<std::string> path;
  std::string text;
  unsigned line = 0;
  bool is_integer = false;  // then `text` is decimal, whatever base the file has it in
  bool is_text = false;     // it is a string in the file, and `text` its contents
};

struct TomlFile {
  bool exists = false;
  bool unreadable = false;  // it exists, but is no regular file, too large or unreadable
  std::string error;        // empty, or what is wrong, with the line
  std::vector<TomlValue> values;
  std::vector<TomlValue> empty_tables;  // which have a place, but no text
};

// Never throws.
TomlFile read_toml(const std::string& path);

// The same of a file's text that has been read. `path` is what messages call it. May throw std::bad_alloc.
TomlFile parse_toml(std::string text, const std::string& path);

}  // namespace cleave::base
