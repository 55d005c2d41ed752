// Kernels of which somebody vouches that their work-groups do not wait for each other, nor see by assembly which they are: the user
// (split.allow), or the list of those that are known beforehand (known_kernels.def).
//
// Thread-safe: pure. May throw std::bad_alloc.
#pragma once

#include <string>

#include "base/settings/configuration.h"

namespace cleave::interpose {

bool is_allowed(const base::Configuration& configuration, const std::string& kernel);

}  // namespace cleave::interpose
