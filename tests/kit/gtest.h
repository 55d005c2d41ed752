// OpenCL in GoogleTest programs: a failed call is a failure of the test, at the test's line.
#pragma once

#include <gtest/gtest.h>

#include "tests/kit/opencl.h"

namespace kit {

inline void fail_test(const char* call, cl_int error, const Where& where) {
  ADD_FAILURE_AT(where.file, static_cast<int>(where.line)) << call << ": error " << error;
}

}  // namespace kit
