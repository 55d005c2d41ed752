// What a program may query of the Cleave below it, and by which functions.

#include <array>
#include <string>

#include "cleave/cleave.h"
#include "interpose/turns/turn_devices.h"
#include "tests/sim/interposer/interposer_fixture.h"
#include "turns/shared_file.h"

namespace cleave {
namespace {

using CleaveInfo = InterposerTest<>;
using Extensions = InterposerTest<>;

clGetCleaveInfo_fn info_function(const InterposerFixture& fixture) {
  return reinterpret_cast<clGetCleaveInfo_fn>(
      fixture.cl.clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME));
}

std::string text(clGetCleaveInfo_fn info, cl_cleave_info what) {
  std::size_t size = 0;
  EXPECT_EQ(info(nullptr, what, 0, nullptr, &size), CL_SUCCESS);
  std::string value(size, '?');
  EXPECT_EQ(info(nullptr, what, size, value.data(), nullptr), CL_SUCCESS);
  EXPECT_EQ(value.back(), '\0');
  value.pop_back();
  return value;
}

TEST_F(CleaveInfo, AnswersTheDocumentedQueries) {
  const auto info = info_function(*this);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(text(info, CL_CLEAVE_VERSION), CLEAVE_VERSION);
  EXPECT_EQ(text(info, CL_CLEAVE_FACE), "drop-in");
  EXPECT_EQ(text(info, CL_CLEAVE_NEXT), "the simulated driver");
  EXPECT_EQ(text(info, CL_CLEAVE_PROBLEMS), "");
  cl_uint vms = 0;
  EXPECT_EQ(info(nullptr, CL_CLEAVE_VMS, sizeof vms, &vms, nullptr), CL_SUCCESS);
  EXPECT_EQ(vms, 5U);
  cl_ulong cores = 0;
  EXPECT_EQ(info(driver.device(), CL_CLEAVE_DEVICE_CORES, sizeof cores, &cores, nullptr), CL_SUCCESS);
  EXPECT_EQ(cores, 128U);
  std::array<char, 64> turns{};
  EXPECT_EQ(info(driver.device(), CL_CLEAVE_DEVICE_TURNS, turns.size(), turns.data(), nullptr), CL_SUCCESS);
  EXPECT_EQ(std::string(turns.data()), turns::SharedFile::name_for(interpose::turn_identity(
                                           *interpose::interposer().devices.of(driver.device()))) +
                                           "\tdevice");
  ASSERT_EQ(launch(make_kernel()), CL_SUCCESS);
  EXPECT_NE(text(info, CL_CLEAVE_STATISTICS).find("\"slices\":20"), std::string::npos);
}

TEST_F(CleaveInfo, InvalidQueriesAreErrors) {
  const auto info = info_function(*this);
  cl_uint value = 0;
  EXPECT_EQ(info(nullptr, 0x1234, sizeof value, &value, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(info(nullptr, CL_CLEAVE_VMS, 1, &value, nullptr), CL_INVALID_VALUE);
  cl_ulong cores = 0;
  for (const cl_uint name : {CL_CLEAVE_DEVICE_CORES, CL_CLEAVE_DEVICE_TURNS})
    EXPECT_EQ(info(nullptr, name, sizeof cores, &cores, nullptr), CL_INVALID_DEVICE);
}

TEST_F(Extensions, OnlyOverriddenFunctionsAreReplaced) {
  int driver_function = 0;
  driver.extension("clEnqueueNDRangeKernel", &driver_function);
  driver.extension("clSomethingElse", &driver_function);
  EXPECT_EQ(cl.clGetExtensionFunctionAddress("clEnqueueNDRangeKernel"),
            reinterpret_cast<void*>(cl.clEnqueueNDRangeKernel));
  EXPECT_EQ(cl.clGetExtensionFunctionAddress("clSomethingElse"), &driver_function);
  EXPECT_EQ(cl.clGetExtensionFunctionAddress("clReleaseKernel"), nullptr)
      << "nothing is offered that the driver does not have";
  EXPECT_EQ(cl.clGetExtensionFunctionAddress(nullptr), nullptr);
}

TEST_F(Extensions, CleaveBelowSplitsInstead) {
  int lower = 0;
  driver.extension(CL_CLEAVE_GET_INFO_NAME, &lower);
  ASSERT_EQ(launch(make_kernel()), CL_SUCCESS);
  EXPECT_EQ(driver.launches().size(), 1U);
  EXPECT_EQ(statistics().launches, 0U) << "and to count";
  EXPECT_EQ(cl.clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME), &lower) << "and to answer";
}

}  // namespace
}  // namespace cleave
