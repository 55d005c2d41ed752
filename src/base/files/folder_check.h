// Whether files can be made in a folder that a setting names.
#pragma once

#include <string>

namespace cleave::base {

// What keeps files from being made in the folder: "is not a folder", "cannot be written to (…)", "cannot be created (…)"; empty
// if nothing does. A missing folder counts as one that will be created, with `parents` folders above it. Creates nothing.
// Thread-safe. May throw std::bad_alloc.
std::string folder_problem(const std::string& folder, unsigned parents);

}  // namespace cleave::base
