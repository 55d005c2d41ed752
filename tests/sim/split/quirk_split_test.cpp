// Drivers that are known to go wrong are spared what they cannot take (interpose/quirks.h), and only they.

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

using plan::Whole;

constexpr const char* kPoclsVendor = "Portable Computing Language";
constexpr const char* kKeeps = "global int total; kernel void add(global int* data, int n) { total += n; }";

sim::Options driver_called(const char* name, const char* version = "OpenCL 3.0 sim") {
  sim::Options options = usual_driver();
  options.device_type = CL_DEVICE_TYPE_CPU;
  options.compute_units = 2;
  options.platform_name = name;
  options.platform_version = version;
  return options;
}

TEST(Quirk, WhereFailuresEndTheProcessNothingIsSplitBehindAUserEvent) {
  for (const bool pocl : {true, false}) {
    Scene scene(usual_settings(), driver_called(pocl ? kPoclsVendor : "Another"));
    const cl_kernel kernel = scene.make_kernel();
    const cl_event gate = scene.user_event();
    ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
    EXPECT_EQ(Scene::whole(Whole::shape), pocl ? 1U : 0U);
    ASSERT_EQ(scene.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().split, pocl ? 1U : 2U);
    scene.expect_each_item_ran(2);
  }
}

TEST(Quirk, WhereSlicesMustNotFailNothingIsSplitThatWaitsForWhatMay) {
  for (const char* name : {"Intel(R) OpenCL", "Oclgrind", "Another"}) {
    const bool fears = std::string_view(name) != "Another";
    Scene scene(usual_settings(), driver_called(name));
    const cl_kernel kernel = scene.make_kernel();
    const cl_event gate = scene.user_event();
    ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
    EXPECT_EQ(Scene::whole(Whole::shape), fears ? 1U : 0U) << name;
    ASSERT_EQ(scene.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().split, fears ? 1U : 2U) << "what has ended well cannot fail: " << name;
    const cl_event failed = scene.user_event();
    ASSERT_EQ(scene.cl.clSetUserEventStatus(failed, -5), CL_SUCCESS);
    const auto before = Scene::tally().split;
    scene.launch(kernel, nullptr, {failed});
    EXPECT_EQ(Scene::tally().split, before + (fears ? 0U : 1U)) << name;
    ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().split, before + (fears ? 0U : 2U)) << "events may lie from now on: " << name;
    scene.expect_each_item_ran(3);
  }
}

TEST(Quirk, WhereOffsetsClashNothingIsSplit) {
  for (const bool clash : {true, false}) {
    const char* version = clash ? "OpenCL 3.0 PoCL 5.0  Linux" : "OpenCL 3.0 PoCL 6.0  Linux";
    Scene scene(usual_settings(), driver_called(kPoclsVendor, version));
    ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().split, clash ? 0U : 1U);
  }
}

sim::Options pocl_of_threads(cl_uint threads, const char* version = "OpenCL 3.0 PoCL 3.1+debian  Linux") {
  sim::Options options = driver_called(kPoclsVendor, version);
  options.compute_units = threads;
  return options;
}

TEST(Quirk, WhereOffsetsRaceNothingIsSplitThatOthersMayRunBeside) {
  base::Settings pipelined = usual_settings();
  pipelined.launch = base::LaunchMode::pipelined;
  for (const cl_uint threads : {1U, 2U}) {
    Scene scene(pipelined, pocl_of_threads(threads));
    const cl_kernel kernel = scene.make_kernel();
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().pipelined, threads == 1 ? 1U : 0U);
    EXPECT_EQ(Scene::tally().split, 1U) << "alone on its queue";
    scene.make_queue();
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().split, 2U) << "two in flight are one too few";
    const cl_command_queue third = scene.make_queue();
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    ASSERT_EQ(scene.launch_on(third, kernel), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().split, threads == 1 ? 4U : 2U);
    EXPECT_EQ(Scene::whole(Whole::shape), threads == 1 ? 0U : 2U);
    scene.cl.clFinish(third);
    scene.expect_each_item_ran(4);
  }
}

TEST(Quirk, WhereOffsetsRaceQueuesThatAreNotInOrderAreNotSplit) {
  for (const char* version :
       {"OpenCL 3.0 PoCL 3.1+debian  Linux", "OpenCL 3.0 PoCL 6.0  Linux", "OpenCL 3.0"}) {
    const bool races = std::string_view(version).find("PoCL 3") != std::string_view::npos;
    Scene scene(usual_settings(), pocl_of_threads(16, version), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().split, races ? 0U : 1U) << version;
  }
}

TEST(Quirk, WhereVariablesAreCopiedProgramsThatHaveSomeStayWhole) {
  for (const bool pocl : {true, false}) {
    Scene scene(usual_settings(), driver_called(pocl ? kPoclsVendor : "Another"));
    const cl_program program = scene.make_program(kKeeps, "-cl-std=CL2.0");
    ASSERT_EQ(scene.launch(scene.make_kernel(program, "add")), CL_SUCCESS);
    EXPECT_EQ(Scene::whole(Whole::kernel), pocl ? 1U : 0U);
    ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().split, pocl ? 1U : 2U);
  }
}

TEST(Quirk, WhereFailedBuildsStickThePreludeIsNotTried) {
  for (const bool intel : {true, false}) {
    Scene scene(usual_settings(), driver_called(intel ? "Intel(R) OpenCL" : "Another"));
    ASSERT_EQ(scene.launch(scene.make_kernel(kSeesTheCut, "seer")), CL_SUCCESS);
    EXPECT_EQ(Scene::whole(Whole::kernel), intel ? 1U : 0U);
    EXPECT_EQ(Scene::tally().split, intel ? 0U : 1U);
  }
}

std::string options_of(const Table& cl, const Scene& scene, cl_program program) {
  std::string options(256, '\0');
  cl.clGetProgramBuildInfo(program, scene.driver.device(), CL_PROGRAM_BUILD_OPTIONS, options.size(),
                           options.data(), nullptr);
  return options.c_str();
}

TEST(Quirk, WhereNothingIsSplitThePreludeIsNotTried) {
  for (const bool clash : {true, false}) {
    const char* version = clash ? "OpenCL 3.0 PoCL 5.0  Linux" : "OpenCL 3.0 PoCL 6.0  Linux";
    Scene scene(usual_settings(), driver_called(kPoclsVendor, version));
    const cl_program program = scene.make_program(kSeesTheCut);
    EXPECT_EQ(options_of(sim::Driver::table(), scene, program), clash ? "" : "-D__cleave_on");
  }
}

TEST(Quirk, WhereNoOptionsSayThatArgumentsHaveNamesThePreludesSwitchDoesNotUnsayIt) {
  for (const bool pocl : {true, false}) {
    Scene scene(usual_settings(), driver_called(pocl ? kPoclsVendor : "Another"));
    const auto options = [&](const char* given) {
      const cl_program program = scene.make_program(kSeesTheCut, given);
      EXPECT_EQ(options_of(scene.cl, scene, program), given != nullptr ? given : "");
      return options_of(sim::Driver::table(), scene, program);
    };
    EXPECT_EQ(options(nullptr), pocl ? "-cl-kernel-arg-info -D__cleave_on" : "-D__cleave_on");
    EXPECT_EQ(options(""), "-D__cleave_on");
    EXPECT_EQ(options("-DN=4"), "-D__cleave_on -DN=4");
  }
}

TEST(Quirk, WhereSuggestingHarmsNobodyAsks) {
  for (const bool intel : {true, false}) {
    sim::Options options = driver_called(intel ? "Intel(R) OpenCL" : "Another");
    options.suggested_local_size = true;
    Scene scene(usual_settings(), options);
    const cl_kernel kernel = scene.make_kernel();
    const std::size_t global = Scene::kItems;
    ASSERT_EQ(scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr,
                                              nullptr),
              CL_SUCCESS);
    EXPECT_EQ(scene.driver.count("clGetKernelSuggestedLocalWorkSizeKHR"), intel ? 0U : 1U);
    EXPECT_EQ(Scene::tally().split, 1U);
    scene.expect_each_item_ran(1);
  }
}

// It splits there, and could not see through a prelude of ours.
TEST(Quirk, AServerGetsProgramsAsTheyCame) {
  for (const bool servers : {true, false}) {
    Scene scene(usual_settings(), driver_called(servers ? "Another (remote)" : "Another"));
    const cl_program program = scene.make_program(kSeesTheCut);
    std::string text(std::size_t{1} << 20U, '\0');
    EXPECT_EQ(
        sim::Driver::table().clGetProgramInfo(program, CL_PROGRAM_SOURCE, text.size(), text.data(), nullptr),
        CL_SUCCESS);
    EXPECT_EQ(std::string(text.c_str()) == kSeesTheCut, servers);
    const cl_kernel kernel = scene.make_kernel(program, "seer");
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(Scene::whole(Whole::kernel) + Scene::whole(Whole::remote), servers ? 1U : 0U);
  }
}

}  // namespace
}  // namespace cleave
