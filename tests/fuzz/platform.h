// The device under test, and its limits.
#pragma once

#include "opencl.h"
#include "options.h"
#include "program_text.h"

namespace fuzz {

struct Platform {
  cl_device_id device = nullptr;
  Capabilities capabilities;
  std::size_t most_local = 1;  // work-items in a work-group
  Context contexts[2];
};

// Ends the program if there is no such platform.
Platform find_platform(const Options& options);

}  // namespace fuzz
