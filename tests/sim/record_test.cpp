// Faults, the log, and the table as a whole.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/driver/core/functions.h"
#include "tests/sim/driver_fixture.h"

namespace cleave::sim {
namespace {

using Fault = DriverTest<>;
using CallLog = DriverTest<>;
using UnsupportedFunction = DriverTest<>;

TEST_F(Fault, FailsOnlyTheNthCall) {
  driver.fail("clFlush", 2, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(cl.clFlush(queue), CL_SUCCESS);
  EXPECT_EQ(cl.clFlush(queue), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(cl.clFlush(queue), CL_SUCCESS);
  EXPECT_EQ(driver.faults_left(), 0u);
}

TEST_F(Fault, SeveralFaultsCountTheSameCalls) {
  driver.fail("clFlush", 1, -1);
  driver.fail("clFlush", 3, -3);
  std::vector<cl_int> codes;
  for (int i = 0; i < 4; ++i) codes.push_back(cl.clFlush(queue));
  EXPECT_EQ(codes, (std::vector<cl_int>{-1, 0, -3, 0}));
}

TEST_F(Fault, FailedEnqueueHasNoEffect) {
  const cl_mem buffer = make_buffer({0});
  const cl_kernel kernel = make_add(buffer, 1);
  driver.fail("clEnqueueNDRangeKernel", 1, CL_OUT_OF_HOST_MEMORY);
  cl_event event = nullptr;
  EXPECT_EQ(cl.launch(queue, kernel, {1}, {}, &event), CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(event, nullptr);
  EXPECT_TRUE(driver.launches().empty());
  EXPECT_EQ(driver.count("clEnqueueNDRangeKernel"), 1u);
  EXPECT_EQ(read(buffer, 1), std::vector<cl_int>{0});
}

TEST_F(Fault, SetsErrcodeAndReturnsNull) {
  cl_int code = 0;
  driver.fail("clCreateBuffer", 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(cl.clCreateBuffer(context, 0, 4, nullptr, &code), nullptr);
  EXPECT_EQ(code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  driver.fail("clCreateBuffer", 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(cl.clCreateBuffer(context, 0, 4, nullptr, nullptr), nullptr);
  driver.fail("clSVMAlloc", 1, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(cl.clSVMAlloc(context, CL_MEM_READ_WRITE, 4, 0), nullptr);
  driver.fail("clCreateContext", 1, CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code), nullptr);
  EXPECT_EQ(code, CL_OUT_OF_HOST_MEMORY);
}

TEST(FaultDeathTest, UnknownFunctionAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Driver driver;
  EXPECT_DEATH(driver.fail("clFlash", 1, -1), "no function clFlash");
}

TEST(DriverDeathTest, SecondDriverAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Driver driver;
  EXPECT_DEATH(Driver{}, "there is a Driver already");
}

TEST_F(CallLog, RecordsFunctionArgumentsAndResult) {
  driver.forget();
  launch(queue, make_kernel("idle"), 128);
  cl.clFlush(queue);
  cl.clReleaseMemObject(nullptr);
  const auto log = driver.log();
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(log[0].function, "clCreateKernel");
  EXPECT_EQ(log[0].arguments, "program#1, \"idle\", ptr");
  EXPECT_EQ(log[0].returned, "kernel#1");
  EXPECT_EQ(log[1].arguments,
            "queue#1, kernel#1, 1, null, ptr, null, 0, null, ptr"
            " idle offset=(0,0,0) global=(128,1,1) local=(64,1,1) (driver's choice)");
  EXPECT_EQ(log[1].returned, "event#1");
  EXPECT_EQ(log[2].arguments, "queue#1");
  EXPECT_EQ(log[3].result, CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(log[3].thread, std::this_thread::get_id());
}

TEST(ConfiguredCallLog, QuietModeKeepsOnlyCounts) {
  DriverFixture fixture(kit::with(Options{}, &Options::quiet, true));
  fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  EXPECT_TRUE(fixture.driver.log().empty());
  EXPECT_TRUE(fixture.driver.launches().empty());
  EXPECT_EQ(fixture.driver.count("clEnqueueNDRangeKernel"), 1u);
}

TEST(ConfiguredCallLog, ObserverSeesEachCallOnReturn) {
  DriverFixture fixture(kit::with(Options{}, &Options::quiet, true));
  std::vector<std::string> seen;
  fixture.driver.on_call(
      [&](const Call& call) { seen.push_back(call.function + ' ' + error_name(call.result)); });
  fixture.cl.clFlush(fixture.queue);
  fixture.cl.clFlush(nullptr);
  fixture.driver.on_call(nullptr);
  EXPECT_EQ(seen, (std::vector<std::string>{"clFlush CL_SUCCESS", "clFlush CL_INVALID_COMMAND_QUEUE"}));
}

TEST(FunctionTable, IsComplete) {
#define CL_FUNCTION(version, name, ...) EXPECT_NE(Driver::table().name, nullptr) << #name;
#include "opencl/functions.def"
#undef CL_FUNCTION
}

TEST_F(UnsupportedFunction, StillValidatesHandles) {
  cl_int code = 0;
  EXPECT_EQ(cl.clCreateFromGLBuffer(context, CL_MEM_READ_WRITE, 1, &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_OPERATION);
  EXPECT_EQ(cl.clCreateFromGLBuffer(nullptr, CL_MEM_READ_WRITE, 1, &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_CONTEXT);
  EXPECT_EQ(cl.clCreatePipe(context, 0, 4, 4, nullptr, &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_OPERATION);
  EXPECT_EQ(driver.count("clCreateFromGLBuffer"), 2u);
}

TEST(FunctionTable, ReturnsAnErrorWithoutADriver) {
  const cl_icd_dispatch& cl = Driver::table();
  cl_int code = 0;
  EXPECT_EQ(cl.clGetPlatformIDs(0, nullptr, nullptr), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(cl.clCreateUserEvent(nullptr, &code), nullptr);
  EXPECT_EQ(code, CL_OUT_OF_RESOURCES);
}

TEST(Extension, IsFoundByName) {
  DriverFixture fixture(kit::with(Options{}, &Options::suggested_local_size, false));
  const auto find = [&](const char* name) { return fixture.cl.clGetExtensionFunctionAddress(name); };
  EXPECT_NE(find("clIcdGetPlatformIDsKHR"), nullptr);
  EXPECT_EQ(find("clGetKernelSuggestedLocalWorkSizeKHR"), nullptr);
  EXPECT_EQ(find("clSomethingElse"), nullptr);
  int mark = 0;
  fixture.driver.extension("clSomethingElse", &mark);
  EXPECT_EQ(find("clSomethingElse"), &mark);
  const auto create = reinterpret_cast<clCreateCommandQueueWithPropertiesKHR_fn>(
      find("clCreateCommandQueueWithPropertiesKHR"));
  const cl_command_queue queue = create(fixture.context, fixture.driver.device(), nullptr, nullptr);
  ASSERT_NE(queue, nullptr);
  fixture.cl.clReleaseCommandQueue(queue);
  EXPECT_EQ(fixture.driver.count("clCreateCommandQueueWithPropertiesKHR"), 1u);
}

}  // namespace
}  // namespace cleave::sim
