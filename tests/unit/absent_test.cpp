#include "icd/absent.h"

#include <gtest/gtest.h>

namespace cleave::icd {
namespace {

TEST(Absent, EveryFunctionHasAnAnswer) {
  Table table{};
  fill_absent(table);
#define CL_FUNCTION(version, result, name, parameters, arguments) EXPECT_NE(table.name, nullptr);
#include "icd/functions.def"
#undef CL_FUNCTION
}

TEST(Absent, AnswersAreErrorsNotCrashes) {
  Table table{};
  fill_absent(table);
  cl_uint count = 0;
  EXPECT_EQ(table.clGetPlatformIDs(0, nullptr, &count), kNoPlatform);
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(table.clCreateContext(nullptr, 0, nullptr, nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_OPERATION);
  EXPECT_EQ(table.clCreateContext(nullptr, 0, nullptr, nullptr, nullptr, nullptr), nullptr);
  EXPECT_EQ(table.clSVMAlloc(nullptr, 0, 1, 0), nullptr);
  table.clSVMFree(nullptr, nullptr);
  EXPECT_EQ(table.clGetExtensionFunctionAddress("x"), nullptr);
}

TEST(Absent, WhatIsThereStays) {
  Table table{};
  table.clFinish = [](cl_command_queue) -> cl_int { return 42; };
  fill_absent(table);
  EXPECT_EQ(table.clFinish(nullptr), 42);
}

}  // namespace
}  // namespace cleave::icd
