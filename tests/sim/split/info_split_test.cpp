// What a program may ask of the Cleave under it, and the doors through which it asks.

#include "cleave/cleave.h"
#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

clGetCleaveInfo_fn info_function(const Scene& scene) {
  return reinterpret_cast<clGetCleaveInfo_fn>(
      scene.cl.clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME));
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

TEST(Info, AnswersWhatTheHeaderPromises) {
  Scene scene;
  const auto info = info_function(scene);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(text(info, CL_CLEAVE_VERSION), CLEAVE_VERSION);
  EXPECT_EQ(text(info, CL_CLEAVE_FACE), "drop-in");
  EXPECT_EQ(text(info, CL_CLEAVE_NEXT), "the simulated driver");
  EXPECT_EQ(text(info, CL_CLEAVE_PROBLEMS), "");
  cl_uint vms = 0;
  EXPECT_EQ(info(nullptr, CL_CLEAVE_VMS, sizeof vms, &vms, nullptr), CL_SUCCESS);
  EXPECT_EQ(vms, 5U);
  cl_ulong cores = 0;
  EXPECT_EQ(info(scene.driver.device(), CL_CLEAVE_DEVICE_CORES, sizeof cores, &cores, nullptr), CL_SUCCESS);
  EXPECT_EQ(cores, 128U);
  ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
  EXPECT_NE(text(info, CL_CLEAVE_STATISTICS).find("\"slices\":20"), std::string::npos);
}

TEST(Info, MistakesAreErrors) {
  Scene scene;
  const auto info = info_function(scene);
  cl_uint value = 0;
  EXPECT_EQ(info(nullptr, 0x1234, sizeof value, &value, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(info(nullptr, CL_CLEAVE_VMS, 1, &value, nullptr), CL_INVALID_VALUE);
  cl_ulong cores = 0;
  EXPECT_EQ(info(nullptr, CL_CLEAVE_DEVICE_CORES, sizeof cores, &cores, nullptr), CL_INVALID_DEVICE);
}

TEST(Extensions, OverriddenFunctionsAreOursOthersTheDrivers) {
  Scene scene;
  int driver_function = 0;
  scene.driver.extension("clEnqueueNDRangeKernel", &driver_function);
  scene.driver.extension("clSomethingElse", &driver_function);
  EXPECT_EQ(scene.cl.clGetExtensionFunctionAddress("clEnqueueNDRangeKernel"),
            reinterpret_cast<void*>(scene.cl.clEnqueueNDRangeKernel));
  EXPECT_EQ(scene.cl.clGetExtensionFunctionAddress("clSomethingElse"), &driver_function);
  EXPECT_EQ(scene.cl.clGetExtensionFunctionAddress("clReleaseKernel"), nullptr)
      << "nothing is offered that the driver does not have";
  EXPECT_EQ(scene.cl.clGetExtensionFunctionAddress(nullptr), nullptr);
}

TEST(Extensions, AnotherCleaveBelowIsLeftToSplit) {
  Scene scene;
  int lower = 0;
  scene.driver.extension(CL_CLEAVE_GET_INFO_NAME, &lower);
  ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(scene.driver.launches().size(), 1U);
  EXPECT_EQ(Scene::tally().launches, 0U) << "and to count";
  EXPECT_EQ(scene.cl.clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME), &lower) << "and to answer";
}

}  // namespace
}  // namespace cleave
