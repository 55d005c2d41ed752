#include "opencl/missing_functions.h"

#include <gtest/gtest.h>

namespace cleave::opencl {
namespace {

TEST(AbsentFunctions, EveryMissingFunctionGetsAStub) {
  Table table{};
  fill_missing_functions(table);
#define CL_FUNCTION(version, name, ...) EXPECT_NE(table.name, nullptr);
#include "opencl/functions.def"
#undef CL_FUNCTION
}

TEST(AbsentFunctions, StubsReturnErrors) {
  Table table{};
  fill_missing_functions(table);
  cl_uint count = 0;
  EXPECT_EQ(table.clGetPlatformIDs(0, nullptr, &count), kPlatformNotFound);
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(table.clCreateContext(nullptr, 0, nullptr, nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_OPERATION);
  EXPECT_EQ(table.clCreateContext(nullptr, 0, nullptr, nullptr, nullptr, nullptr), nullptr);
  EXPECT_EQ(table.clSVMAlloc(nullptr, 0, 1, 0), nullptr);
  table.clSVMFree(nullptr, nullptr);
  EXPECT_EQ(table.clGetExtensionFunctionAddress("x"), nullptr);
}

TEST(AbsentFunctions, PresentFunctionsAreKept) {
  Table table{};
  table.clFinish = [](cl_command_queue) -> cl_int { return 42; };
  fill_missing_functions(table);
  EXPECT_EQ(table.clFinish(nullptr), 42);
}

}  // namespace
}  // namespace cleave::opencl
