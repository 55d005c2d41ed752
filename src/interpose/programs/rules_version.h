// Identifies the rules by which programs are scanned and given the prelude: what is kept of a program by other rules is
// not believed.
//
// Thread-safe: a constant.
#pragma once

#include <string_view>

namespace cleave::interpose {

// A hash of the source files in which the rules are. It changes with each of their changes, so that none is forgotten.
std::string_view rules_version();

}  // namespace cleave::interpose
