// Which files in hidden folders a worker cannot do without: the libraries, drivers and settings that the server's environment
// names.
//
// Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cleave::remote::server {

// Returns a variable's value or nullptr, as getenv does.
using Variables = std::function<const char*(const char*)>;

// Absolute paths, which need not exist, wherever they are. Reads .icd files.
std::vector<std::string> named_files(const Variables& variables);

// The file with Cleave's settings that the variables lead to, as long as HOME is what it was; empty: none of the user's.
std::string settings_file(const Variables& variables);

// Of `paths` those that exist below the hidden folders, by the names that they have and by those that these stand for. A hidden
// folder itself stays hidden.
std::vector<std::string> below_hidden(const std::vector<std::string>& paths,
                                      const std::vector<std::string>& hidden);

// Of `paths` those that exist and that a worker would see, by the names that they stand for: not below the hidden folders, or
// below what is readable in them.
std::vector<std::string> visible(const std::vector<std::string>& paths,
                                 const std::vector<std::string>& hidden,
                                 const std::vector<std::string>& readable);

}  // namespace cleave::remote::server
