// The zero-cost driver.
#include "tests/sim/driver/zero/zero_driver.h"

#include <cstddef>

#include "tests/kit/gtest.h"

namespace cleave::sim {
namespace {

TEST(ZeroDriver, IsComplete) {
#define CL_FUNCTION(version, name, ...) EXPECT_NE(zero_table().name, nullptr) << #name;
#include "opencl/functions.def"
#undef CL_FUNCTION
}

TEST(ZeroDriver, RunsAProgramFromEndToEnd) {
  const kit::Api cl(zero_table(), kit::fail_test);
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  ASSERT_EQ(cl.clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
  ASSERT_EQ(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), CL_SUCCESS);
  cl_int code = 1;
  const cl_context context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  EXPECT_EQ(code, CL_SUCCESS);
  const cl_command_queue queue = cl.clCreateCommandQueueWithProperties(context, device, nullptr, &code);
  const cl_kernel kernel = cl.clCreateKernel(nullptr, "any", nullptr);
  const std::size_t one = 1;
  cl_event event = nullptr;
  EXPECT_EQ(cl.launch(queue, kernel, {one}, {}, &event), CL_SUCCESS);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(cl.launch(queue, kernel, {one}), CL_SUCCESS);
  EXPECT_EQ(cl.status(event), CL_COMPLETE);
  cl_event mapped = nullptr;
  EXPECT_NE(cl.clEnqueueMapBuffer(queue, nullptr, CL_TRUE, CL_MAP_READ, 0, 4, 0, nullptr, &mapped, &code),
            nullptr);
  EXPECT_EQ(mapped, event);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
}

TEST(ZeroDriver, AnswersTheInterposersQueries) {
  const cl_icd_dispatch& cl = zero_table();
  cl_kernel kernel = cl.clCreateKernel(nullptr, "any", nullptr);
  char name[8];
  EXPECT_EQ(cl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr), CL_SUCCESS);
  EXPECT_STREQ(name, "zero");
  EXPECT_EQ(cl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 2, name, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(*reinterpret_cast<const cl_icd_dispatch* const*>(kernel), &cl);
}

}  // namespace
}  // namespace cleave::sim
