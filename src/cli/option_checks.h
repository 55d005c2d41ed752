// Checks of option values on the command line. Each returns an empty text for a valid value, or else what is wrong with it
// in one line.
#pragma once

#include <string>

namespace cleave::cli {

// By the grammar of the setting with this environment variable (base/settings/settings.h).
std::string check_setting(const char* variable, const std::string& value);

// A number of seconds from 0.1 to 3600.
std::string check_seconds(const std::string& value);

// The path of an existing file.
std::string check_file(const std::string& value);

}  // namespace cleave::cli
