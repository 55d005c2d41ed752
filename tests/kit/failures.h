// What becomes of a failed OpenCL call in programs of ours that are no GoogleTest programs.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/kit/opencl.h"

namespace kit {

// One line that says where, and exit status 1.
[[noreturn]] inline void end_program(const char* call, cl_int error, const Where& where) {
  std::fprintf(stderr, "%s:%u: %s: error %d\n", where.file, where.line, call, error);
  std::exit(1);
}

// std::runtime_error: "clCreateBuffer: error -61".
[[noreturn]] inline void throw_error(const char* call, cl_int error, const Where& /*where*/) {
  throw std::runtime_error(std::string(call) + ": error " + std::to_string(error));
}

}  // namespace kit
