// The file that this process executes.
#pragma once

#include <string>
#include <string_view>

namespace cleave::base {

// Its full path; empty if it is not known. Thread-safe.
std::string program_path();

// Whether the program at `path` is meant by a shell pattern (fnmatch(3)): of full paths if there is a slash in it, else of base
// names.
bool is_program(const std::string& path, const std::string& pattern);

}  // namespace cleave::base
