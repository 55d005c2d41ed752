// OpenCL as this program is linked with it. What cases call returns its status, which is observed; the Api's checked verbs
// are for the program's beginning, where an error ends it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/kit/linked.h"

namespace fuzz {

using kit::Buffer;
using kit::Context;
using kit::Event;
using kit::Kernel;
using kit::Program;
using kit::Queue;
using kit::Waits;

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "cleave_fuzz: %s\n", why.c_str());
  std::exit(2);
}

inline const kit::Api cl(kit::linked_table(), [](const char* call, cl_int error, const kit::Where&) {
  give_up(std::string(call) + ": error " + std::to_string(error));
});

}  // namespace fuzz
