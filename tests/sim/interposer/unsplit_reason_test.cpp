// Which launches are not split, and that the reason is counted.

#include <array>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using plan::UnsplitReason;

void expect_unsplit(const InterposerFixture& fixture, UnsplitReason why, std::uint64_t times = 1) {
  EXPECT_EQ(InterposerFixture::statistics().split, 0U);
  EXPECT_EQ(InterposerFixture::unsplit(why), times) << plan::name(why);
  EXPECT_EQ(fixture.driver.launches().size(), times);
}

TEST(UnsplitReason, KernelThatTampersWithBuiltins) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(
      "kernel void seer(global int* data, int n) { data[get_global_id(0)] += n; asm(\"\"); }");
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "seer")), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::kernel);
}

TEST(UnsplitReason, UncertainOptionsStayUncertain) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(kSplittable, "-include other.h");
  EXPECT_EQ(fixture.cl.build(program), CL_SUCCESS);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "add")), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::kernel);
}

TEST(UnsplitReason, PolicyOff) {
  base::Settings settings = default_settings();
  settings.policy = {base::SplitPolicy::Kind::off, 0};
  InterposerFixture fixture(settings);
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::policy);
}

TEST(UnsplitReason, DeniedKernel) {
  base::Settings settings = default_settings();
  settings.deny = {"ad*"};
  InterposerFixture fixture(settings);
  const cl_program program = fixture.make_program(kSplittable);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "add")), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::denied);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "sum")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
}

// Without what stands in place of the device's own figures elsewhere.
base::Settings settings_of_the_device() {
  base::Settings settings = default_settings();
  settings.min_items.reset();
  return settings;
}

TEST(UnsplitReason, FewerItemsThanCores) {
  InterposerFixture fixture(settings_of_the_device());
  const cl_kernel kernel = fixture.make_kernel();
  const std::size_t local = 1;
  ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {127, local}), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::small);
}

TEST(UnsplitReason, AllGroupsResident) {
  InterposerFixture fixture(
      settings_of_the_device());  // 2 compute units of at most 128 groups or 2048 items: 256
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::resident);
}

TEST(DeviceOccupancy, LimitsTheSliceCount) {
  sim::Options half = default_driver();
  half.compute_units = 1;
  InterposerFixture fixture(settings_of_the_device(), half);
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().slices, 2U);
  fixture.expect_each_item_ran(1);
}

TEST(UnsplitReason, OneGroup) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  const std::size_t size = 1024;
  ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {size, size}), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::one_group);
}

TEST(UnsplitReason, CommunicatingKernelWithResidentGroups) {
  InterposerFixture fixture;  // 2 compute units of at most 128 groups: 256
  ASSERT_EQ(fixture.launch(fixture.make_kernel(kUsesAtomics, "talker")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 0U) << "4096 items in groups of 16 are 256 groups";
  expect_unsplit(fixture, UnsplitReason::kernel);
}

TEST(UnsplitReason, ProgramFromABinary) {
  InterposerFixture fixture;
  const cl_program source = fixture.make_program(kSplittable);
  const auto size = fixture.cl.info<std::size_t>(source, CL_PROGRAM_BINARY_SIZES);
  std::vector<unsigned char> binary(size);
  unsigned char* to = binary.data();
  fixture.cl.clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr);
  const unsigned char* from = binary.data();
  const cl_device_id device = fixture.driver.device();
  const cl_program program = fixture.keep(
      fixture.cl.clCreateProgramWithBinary(fixture.context, 1, &device, &size, &from, nullptr, nullptr));
  ASSERT_EQ(fixture.cl.build(program), CL_SUCCESS);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "add")), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::binary);
}

cl_program linked(InterposerFixture& fixture, const std::vector<const char*>& sources) {
  std::vector<cl_program> inputs;
  for (const char* source : sources) {
    inputs.push_back(
        fixture.keep(fixture.cl.clCreateProgramWithSource(fixture.context, 1, &source, nullptr, nullptr)));
    EXPECT_EQ(
        fixture.cl.clCompileProgram(inputs.back(), 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr),
        CL_SUCCESS);
  }
  return fixture.keep(fixture.cl.clLinkProgram(fixture.context, 0, nullptr, "",
                                               static_cast<cl_uint>(inputs.size()), inputs.data(), nullptr,
                                               nullptr, nullptr));
}

cl_int CL_API_CALL record_nothing(void*, cl_command_queue, const void*, cl_kernel, cl_uint, const size_t*,
                                  const size_t*, const size_t*, cl_uint, const cl_uint*, cl_uint* point,
                                  void*) {
  *point = 7;
  return CL_SUCCESS;
}

TEST(UnsplitReason, RecordedLaunch) {
  constexpr const char* kName = "clCommandNDRangeKernelKHR";
  InterposerFixture fixture;
  EXPECT_EQ(fixture.cl.clGetExtensionFunctionAddressForPlatform(fixture.driver.platform(), kName), nullptr);
  fixture.driver.extension(kName, reinterpret_cast<void*>(record_nothing));
  const auto command = reinterpret_cast<decltype(&record_nothing)>(
      fixture.cl.clGetExtensionFunctionAddressForPlatform(fixture.driver.platform(), kName));
  const std::size_t global = 4096;
  cl_uint point = 0;
  EXPECT_EQ(command(nullptr, nullptr, nullptr, fixture.make_kernel(), 1, nullptr, &global, nullptr, 0,
                    nullptr, &point, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(point, 7U);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::recorded), 1U);
  EXPECT_EQ(
      command(nullptr, nullptr, nullptr, nullptr, 1, nullptr, &global, nullptr, 0, nullptr, &point, nullptr),
      CL_INVALID_KERNEL);
}

TEST(LinkedProgram, IsSplittableIfAllInputsAre) {
  InterposerFixture fixture;
  ASSERT_EQ(fixture.launch(fixture.make_kernel(linked(fixture, {kSplittable}), "add")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
}

TEST(LinkedProgram, IsUnsplitIfOneInputIsUncertain) {
  InterposerFixture fixture;
  const char* doubtful = "kernel void other(global int* data, int n) { asm(\"\"); }";
  ASSERT_EQ(fixture.launch(fixture.make_kernel(linked(fixture, {kSplittable, doubtful}), "add")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::kernel), 1U);
  EXPECT_EQ(InterposerFixture::statistics().split, 0U);
}

TEST(Kernels, AreRecordedHoweverCreated) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(kSplittable);
  std::array<cl_kernel, 3> kernels{};
  cl_uint count = 0;
  ASSERT_EQ(fixture.cl.clCreateKernelsInProgram(program, 3, kernels.data(), &count), CL_SUCCESS);
  ASSERT_EQ(count, 3U);
  const kit::Kernel clone =
      fixture.cl.own(fixture.cl.clCloneKernel(fixture.with_arguments(kernels[0]), nullptr));
  for (const cl_kernel kernel : {kernels[0], kernels[1], clone.get()}) {
    ASSERT_EQ(fixture.launch(fixture.with_arguments(kernel)), CL_SUCCESS);
  }
  EXPECT_EQ(InterposerFixture::statistics().split, 3U);
  for (const cl_kernel kernel : kernels) fixture.cl.clReleaseKernel(kernel);
}

TEST(Kernels, AreCountedWithoutAnOutputArray) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(kSplittable);
  std::array<cl_kernel, 3> kernels{};
  cl_uint count = 77;
  EXPECT_EQ(fixture.cl.clCreateKernelsInProgram(program, 1, kernels.data(), &count), CL_INVALID_VALUE);
  EXPECT_EQ(count, 3U);
  count = 77;
  EXPECT_EQ(fixture.cl.clCreateKernelsInProgram(nullptr, 1, kernels.data(), &count), CL_INVALID_PROGRAM);
  EXPECT_EQ(count, 77U);
}

TEST(Kernels, OutliveTheirProgramsHandle) {
  InterposerFixture fixture;
  kit::Program program = fixture.cl.build(fixture.context, kSplittable);
  const kit::Kernel kernel = fixture.cl.kernel(program, "add", fixture.buffer, cl_int{1});
  program.reset();
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
}

TEST(Queues, AreRecordedHoweverCreated) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  const cl_queue_properties out_of_order[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  using Create =
      cl_command_queue(CL_API_CALL*)(cl_context, cl_device_id, const cl_queue_properties*, cl_int*);
  const auto create_khr = reinterpret_cast<Create>(fixture.cl.clGetExtensionFunctionAddressForPlatform(
      fixture.driver.platform(), "clCreateCommandQueueWithPropertiesKHR"));
  ASSERT_NE(create_khr, nullptr);
  const cl_device_id device = fixture.driver.device();
  for (cl_command_queue queue :
       {fixture.cl.clCreateCommandQueueWithProperties(fixture.context, device, out_of_order, nullptr),
        create_khr(fixture.context, device, out_of_order, nullptr)}) {
    ASSERT_NE(queue, nullptr);
    fixture.driver.forget();
    ASSERT_EQ(fixture.launch_on(queue, kernel), CL_SUCCESS);
    ASSERT_EQ(fixture.driver.launches().size(), 20U);
    EXPECT_EQ(fixture.driver.launches()[1].waits.size(), 1U) << "chained";
    EXPECT_EQ(fixture.driver.count("clGetCommandQueueInfo"), 0U)
        << "asked when it was made, not at each launch";
    fixture.cl.clFinish(queue);
    fixture.cl.clReleaseCommandQueue(queue);
  }
}

class NullLocal : public testing::TestWithParam<bool> {};

TEST_P(NullLocal, IsChosenOnceForAllSlices) {
  sim::Options options = default_driver();
  options.suggested_local_size = GetParam();
  InterposerFixture fixture(default_settings(), options);
  const cl_kernel kernel = fixture.make_kernel();
  const std::size_t global = InterposerFixture::kItems;
  ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {global}), CL_SUCCESS);
  const auto slices = fixture.driver.launches();
  ASSERT_GT(slices.size(), 1U);
  for (const auto& slice : slices) {
    EXPECT_FALSE(slice.null_local);
    EXPECT_EQ(slice.local, slices[0].local);
  }
  fixture.expect_each_item_ran(1);
}

INSTANTIATE_TEST_SUITE_P(Driver, NullLocal, testing::Bool(),
                         [](const auto& info) { return info.param ? "Suggests" : "DoesNotSuggest"; });

TEST(NullLocal, WithARequiredSizeIsForwarded) {
  for (const bool refuses : {false, true}) {
    sim::Options options = default_driver();
    options.required_size_refuses_null = refuses;
    InterposerFixture fixture(default_settings(), options);
    const cl_kernel kernel = fixture.make_kernel(kSplittable, "fixed");
    const std::size_t global = InterposerFixture::kItems;
    EXPECT_EQ(fixture.cl.launch(fixture.queue, kernel, {global}),
              refuses ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS);
    EXPECT_EQ(fixture.driver.executions().size() <= 1, true);
  }
}

TEST(PartialGroups, AreSplitOnceTheDriverHasAcceptedThem) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  const std::size_t global = 4090;
  const std::size_t local = 16;
  const auto launch = [&] { return fixture.cl.launch(fixture.queue, kernel, {global, local}); };
  ASSERT_EQ(launch(), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::shape), 1U);
  ASSERT_EQ(launch(), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
  fixture.cl.clFinish(fixture.queue);
  const auto content = fixture.read();
  for (std::size_t i = 0; i < content.size(); ++i) EXPECT_EQ(content[i], i < global ? 2 : 0);
}

TEST(PartialGroups, RejectedByTheDriverReturnItsError) {
  sim::Options options = default_driver();
  options.non_uniform = false;
  InterposerFixture fixture(default_settings(), options);
  const cl_kernel kernel = fixture.make_kernel();
  const std::size_t global = 4090;
  const std::size_t local = 16;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fixture.cl.launch(fixture.queue, kernel, {global, local}), CL_INVALID_WORK_GROUP_SIZE);
  }
  EXPECT_TRUE(fixture.driver.launches().empty());
  EXPECT_EQ(InterposerFixture::statistics().launches, 0U);
}

TEST(Tasks, AreSingleGroupLaunches) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  EXPECT_EQ(fixture.cl.clEnqueueTask(fixture.queue, kernel, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::one_group), 1U);
  EXPECT_EQ(InterposerFixture::statistics().launches, 1U);
}

TEST(Disabled, ForwardsEverything) {
  base::Settings settings = default_settings();
  settings.disable = true;
  InterposerFixture fixture(settings);
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.launches().size(), 1U);
  EXPECT_EQ(InterposerFixture::statistics().launches, 0U);
  EXPECT_EQ(fixture.cl.clEnqueueNDRangeKernel, sim::Driver::table().clEnqueueNDRangeKernel);
}

}  // namespace
}  // namespace cleave
