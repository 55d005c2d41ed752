// Which launches stay whole, and that the reason is counted.

#include <array>

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

using plan::Whole;

void expect_whole(const Scene& scene, Whole why, std::uint64_t times = 1) {
  EXPECT_EQ(Scene::tally().split, 0U);
  EXPECT_EQ(Scene::whole(why), times) << plan::name(why);
  EXPECT_EQ(scene.driver.launches().size(), times);
}

TEST(Whole, AKernelThatMaySeeTheCutInOtherWays) {
  Scene scene;
  const cl_program program = scene.make_program(
      "kernel void seer(global int* data, int n) { data[get_global_id(0)] += n; asm(\"\"); }");
  ASSERT_EQ(scene.launch(scene.make_kernel(program, "seer")), CL_SUCCESS);
  expect_whole(scene, Whole::kernel);
}

TEST(Whole, OptionsOnceInDoubtStaySo) {
  Scene scene;
  const cl_program program = scene.make_program(kSplittable, "-include other.h");
  EXPECT_EQ(scene.cl.clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  ASSERT_EQ(scene.launch(scene.make_kernel(program, "add")), CL_SUCCESS);
  expect_whole(scene, Whole::kernel);
}

TEST(Whole, APolicyOfOff) {
  base::Settings settings = usual_settings();
  settings.policy = {base::SplitPolicy::Kind::off, 0};
  Scene scene(settings);
  ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
  expect_whole(scene, Whole::policy);
}

TEST(Whole, ADeniedKernel) {
  base::Settings settings = usual_settings();
  settings.deny = {"ad*"};
  Scene scene(settings);
  const cl_program program = scene.make_program(kSplittable);
  ASSERT_EQ(scene.launch(scene.make_kernel(program, "add")), CL_SUCCESS);
  expect_whole(scene, Whole::denied);
  ASSERT_EQ(scene.launch(scene.make_kernel(program, "sum")), CL_SUCCESS);
  EXPECT_EQ(Scene::tally().split, 1U);
}

// Without what stands in place of the device's own figures elsewhere.
base::Settings settings_of_the_device() {
  base::Settings settings = usual_settings();
  settings.min_items.reset();
  return settings;
}

TEST(Whole, FewerItemsThanTheDeviceHasCores) {
  Scene scene(settings_of_the_device());
  const cl_kernel kernel = scene.make_kernel();
  const std::size_t global = 127;
  const std::size_t local = 1;
  ASSERT_EQ(
      scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr),
      CL_SUCCESS);
  expect_whole(scene, Whole::small);
}

TEST(Whole, GroupsThatTheDeviceHoldsAtOnce) {
  Scene scene(settings_of_the_device());  // 2 compute units of at most 128 groups or 2048 items: 256
  ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
  expect_whole(scene, Whole::held);
}

TEST(Filled, NoMoreSlicesThanFillTheDevice) {
  sim::Options half = usual_driver();
  half.compute_units = 1;
  Scene scene(settings_of_the_device(), half);
  ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(Scene::tally().slices, 2U);
  scene.expect_each_item_ran(1);
}

TEST(Whole, OneGroup) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  const std::size_t size = 1024;
  ASSERT_EQ(
      scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &size, &size, 0, nullptr, nullptr),
      CL_SUCCESS);
  expect_whole(scene, Whole::one_group);
}

TEST(Whole, ATalkingKernelWhoseGroupsMayAllBeResident) {
  Scene scene;  // 2 compute units of at most 128 groups: 256
  ASSERT_EQ(scene.launch(scene.make_kernel(kTalks, "talker")), CL_SUCCESS);
  EXPECT_EQ(Scene::tally().split, 0U) << "4096 items in groups of 16 are 256 groups";
  expect_whole(scene, Whole::kernel);
}

TEST(Whole, AProgramFromABinary) {
  Scene scene;
  const cl_program source = scene.make_program(kSplittable);
  std::size_t size = 0;
  scene.cl.clGetProgramInfo(source, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  std::vector<unsigned char> binary(size);
  unsigned char* to = binary.data();
  scene.cl.clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr);
  const unsigned char* from = binary.data();
  const cl_device_id device = scene.driver.device();
  const cl_program program = scene.keep(
      scene.cl.clCreateProgramWithBinary(scene.context, 1, &device, &size, &from, nullptr, nullptr));
  ASSERT_EQ(scene.cl.clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  ASSERT_EQ(scene.launch(scene.make_kernel(program, "add")), CL_SUCCESS);
  expect_whole(scene, Whole::binary);
}

cl_program linked(Scene& scene, const std::vector<const char*>& sources) {
  std::vector<cl_program> inputs;
  for (const char* source : sources) {
    inputs.push_back(
        scene.keep(scene.cl.clCreateProgramWithSource(scene.context, 1, &source, nullptr, nullptr)));
    EXPECT_EQ(scene.cl.clCompileProgram(inputs.back(), 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr),
              CL_SUCCESS);
  }
  return scene.keep(scene.cl.clLinkProgram(scene.context, 0, nullptr, "", static_cast<cl_uint>(inputs.size()),
                                           inputs.data(), nullptr, nullptr, nullptr));
}

cl_int CL_API_CALL record_nothing(void*, cl_command_queue, const void*, cl_kernel, cl_uint, const size_t*,
                                  const size_t*, const size_t*, cl_uint, const cl_uint*, cl_uint* point,
                                  void*) {
  *point = 7;
  return CL_SUCCESS;
}

TEST(Whole, ALaunchThatIsRecorded) {
  constexpr const char* kName = "clCommandNDRangeKernelKHR";
  Scene scene;
  EXPECT_EQ(scene.cl.clGetExtensionFunctionAddressForPlatform(scene.driver.platform(), kName), nullptr);
  scene.driver.extension(kName, reinterpret_cast<void*>(record_nothing));
  const auto command = reinterpret_cast<decltype(&record_nothing)>(
      scene.cl.clGetExtensionFunctionAddressForPlatform(scene.driver.platform(), kName));
  const std::size_t global = 4096;
  cl_uint point = 0;
  EXPECT_EQ(command(nullptr, nullptr, nullptr, scene.make_kernel(), 1, nullptr, &global, nullptr, 0, nullptr,
                    &point, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(point, 7U);
  EXPECT_EQ(Scene::whole(Whole::recorded), 1U);
  EXPECT_EQ(
      command(nullptr, nullptr, nullptr, nullptr, 1, nullptr, &global, nullptr, 0, nullptr, &point, nullptr),
      CL_INVALID_KERNEL);
}

TEST(Linked, ProgramIsSplittableIfAllItsInputsAre) {
  Scene scene;
  ASSERT_EQ(scene.launch(scene.make_kernel(linked(scene, {kSplittable}), "add")), CL_SUCCESS);
  EXPECT_EQ(Scene::tally().split, 1U);
}

TEST(Linked, ProgramWithOneInputThatIsInDoubtIsNot) {
  Scene scene;
  const char* doubtful = "kernel void other(global int* data, int n) { asm(\"\"); }";
  ASSERT_EQ(scene.launch(scene.make_kernel(linked(scene, {kSplittable, doubtful}), "add")), CL_SUCCESS);
  EXPECT_EQ(Scene::whole(Whole::kernel), 1U);
  EXPECT_EQ(Scene::tally().split, 0U);
}

TEST(Kernels, OfEveryMakeAreKnown) {
  Scene scene;
  const cl_program program = scene.make_program(kSplittable);
  std::array<cl_kernel, 3> kernels{};
  cl_uint count = 0;
  ASSERT_EQ(scene.cl.clCreateKernelsInProgram(program, 3, kernels.data(), &count), CL_SUCCESS);
  ASSERT_EQ(count, 3U);
  cl_kernel clone = scene.cl.clCloneKernel(scene.with_arguments(kernels[0]), nullptr);
  for (const cl_kernel kernel : {kernels[0], kernels[1], clone}) {
    ASSERT_EQ(scene.launch(scene.with_arguments(kernel)), CL_SUCCESS);
  }
  EXPECT_EQ(Scene::tally().split, 3U);
  for (const cl_kernel kernel : kernels) scene.cl.clReleaseKernel(kernel);
  scene.cl.clReleaseKernel(clone);
}

TEST(Kernels, ThereIsNoRoomForAreCountedAllTheSame) {
  Scene scene;
  const cl_program program = scene.make_program(kSplittable);
  std::array<cl_kernel, 3> kernels{};
  cl_uint count = 77;
  EXPECT_EQ(scene.cl.clCreateKernelsInProgram(program, 1, kernels.data(), &count), CL_INVALID_VALUE);
  EXPECT_EQ(count, 3U);
  count = 77;
  EXPECT_EQ(scene.cl.clCreateKernelsInProgram(nullptr, 1, kernels.data(), &count), CL_INVALID_PROGRAM);
  EXPECT_EQ(count, 77U);
}

TEST(Kernels, OfAProgramThatIsReleasedFirstAreKnown) {
  Scene scene;
  const char* source = kSplittable;
  cl_program program = scene.cl.clCreateProgramWithSource(scene.context, 1, &source, nullptr, nullptr);
  scene.cl.clBuildProgram(program, 0, nullptr, "", nullptr, nullptr);
  cl_kernel kernel = scene.with_arguments(scene.cl.clCreateKernel(program, "add", nullptr));
  scene.cl.clReleaseProgram(program);
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(Scene::tally().split, 1U);
  scene.cl.clReleaseKernel(kernel);
}

TEST(Queues, OfEveryMakeAreKnown) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  const cl_queue_properties out_of_order[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  using Create =
      cl_command_queue(CL_API_CALL*)(cl_context, cl_device_id, const cl_queue_properties*, cl_int*);
  const auto create_khr = reinterpret_cast<Create>(scene.cl.clGetExtensionFunctionAddressForPlatform(
      scene.driver.platform(), "clCreateCommandQueueWithPropertiesKHR"));
  ASSERT_NE(create_khr, nullptr);
  const cl_device_id device = scene.driver.device();
  for (cl_command_queue queue :
       {scene.cl.clCreateCommandQueueWithProperties(scene.context, device, out_of_order, nullptr),
        create_khr(scene.context, device, out_of_order, nullptr)}) {
    ASSERT_NE(queue, nullptr);
    scene.driver.forget();
    ASSERT_EQ(scene.launch_on(queue, kernel), CL_SUCCESS);
    ASSERT_EQ(scene.driver.launches().size(), 20U);
    EXPECT_EQ(scene.driver.launches()[1].waits.size(), 1U) << "chained";
    EXPECT_EQ(scene.driver.count("clGetCommandQueueInfo"), 0U)
        << "asked when it was made, not at each launch";
    scene.cl.clFinish(queue);
    scene.cl.clReleaseCommandQueue(queue);
  }
}

class NullLocal : public testing::TestWithParam<bool> {};

TEST_P(NullLocal, IsMadeExplicitOnceForAllSlices) {
  sim::Options options = usual_driver();
  options.suggested_local_size = GetParam();
  Scene scene(usual_settings(), options);
  const cl_kernel kernel = scene.make_kernel();
  const std::size_t global = Scene::kItems;
  ASSERT_EQ(
      scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
      CL_SUCCESS);
  const auto slices = scene.driver.launches();
  ASSERT_GT(slices.size(), 1U);
  for (const auto& slice : slices) {
    EXPECT_FALSE(slice.null_local);
    EXPECT_EQ(slice.local, slices[0].local);
  }
  scene.expect_each_item_ran(1);
}

INSTANTIATE_TEST_SUITE_P(Driver, NullLocal, testing::Bool(),
                         [](const auto& info) { return info.param ? "Suggests" : "DoesNotSuggest"; });

TEST(NullLocal, OfAKernelWithARequiredSizeIsTheDriversAffair) {
  for (const bool refuses : {false, true}) {
    sim::Options options = usual_driver();
    options.required_size_refuses_null = refuses;
    Scene scene(usual_settings(), options);
    const cl_kernel kernel = scene.make_kernel(kSplittable, "fixed");
    const std::size_t global = Scene::kItems;
    EXPECT_EQ(scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr,
                                              nullptr),
              refuses ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS);
    EXPECT_EQ(scene.driver.executions().size() <= 1, true);
  }
}

TEST(Uneven, LaunchIsSplitOnceTheDriverHasTakenOne) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  const std::size_t global = 4090;
  const std::size_t local = 16;
  const auto launch = [&] {
    return scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, &local, 0, nullptr,
                                           nullptr);
  };
  ASSERT_EQ(launch(), CL_SUCCESS);
  EXPECT_EQ(Scene::whole(Whole::shape), 1U);
  ASSERT_EQ(launch(), CL_SUCCESS);
  EXPECT_EQ(Scene::tally().split, 1U);
  scene.cl.clFinish(scene.queue);
  const auto content = scene.read();
  for (std::size_t i = 0; i < content.size(); ++i) EXPECT_EQ(content[i], i < global ? 2 : 0);
}

TEST(Uneven, LaunchThatTheDriverRefusesIsItsError) {
  sim::Options options = usual_driver();
  options.non_uniform = false;
  Scene scene(usual_settings(), options);
  const cl_kernel kernel = scene.make_kernel();
  const std::size_t global = 4090;
  const std::size_t local = 16;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, &local, 0, nullptr,
                                              nullptr),
              CL_INVALID_WORK_GROUP_SIZE);
  }
  EXPECT_TRUE(scene.driver.launches().empty());
  EXPECT_EQ(Scene::tally().launches, 0U);
}

TEST(Tasks, AreLaunchesOfOneGroup) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  EXPECT_EQ(scene.cl.clEnqueueTask(scene.queue, kernel, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(Scene::whole(Whole::one_group), 1U);
  EXPECT_EQ(Scene::tally().launches, 1U);
}

TEST(Disabled, HandsEverythingOn) {
  base::Settings settings = usual_settings();
  settings.disable = true;
  Scene scene(settings);
  ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(scene.driver.launches().size(), 1U);
  EXPECT_EQ(Scene::tally().launches, 0U);
  EXPECT_EQ(scene.cl.clEnqueueNDRangeKernel, sim::Driver::table().clEnqueueNDRangeKernel);
}

}  // namespace
}  // namespace cleave
