// Each reason for not splitting in words: what it comes from, and what the user can do about it.
//
// Thread-safe: pure functions. They may throw std::bad_alloc.
#pragma once

#include <string>

#include "base/settings/configuration.h"
#include "plan/decide.h"

namespace cleave::interpose {

struct UnsplitText {
  std::string cause;   // one sentence without a full stop, of the launch
  std::string advice;  // a setting or a change of the program, or "nothing" and why
};

// Of a launch of the kernel with this name under this configuration. Requires: `why` is the reason of such a launch.
UnsplitText describe(plan::UnsplitReason why, const std::string& kernel,
                     const base::Configuration& configuration);

}  // namespace cleave::interpose
