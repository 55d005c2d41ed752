// Which launches are not split, and that the reason is counted.

#include <array>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using plan::UnsplitReason;

using UnsplitLaunch = InterposerTest<>;
using LinkedProgram = InterposerTest<>;
using Kernels = InterposerTest<>;
using Queues = InterposerTest<>;
using PartialGroups = InterposerTest<>;
using Tasks = InterposerTest<>;

void expect_unsplit(const InterposerFixture& fixture, UnsplitReason why, std::uint64_t times = 1) {
  EXPECT_EQ(InterposerFixture::statistics().split, 0U);
  EXPECT_EQ(InterposerFixture::unsplit(why), times) << plan::name(why);
  EXPECT_EQ(fixture.driver.launches().size(), times);
}

TEST_F(UnsplitLaunch, KernelThatRedefinesBuiltins) {
  const cl_program program = make_program(
      "kernel void reads_group_id(global int* data, int n) { data[get_global_id(0)] += n; asm(\"\"); }");
  ASSERT_EQ(launch(make_kernel(program, "reads_group_id")), CL_SUCCESS);
  expect_unsplit(*this, UnsplitReason::kernel);
}

TEST_F(UnsplitLaunch, UncertainOptionsStayUncertain) {
  const cl_program program = make_program(kSplittable, "-include other.h");
  EXPECT_EQ(cl.build(program), CL_SUCCESS);
  ASSERT_EQ(launch(make_kernel(program, "add")), CL_SUCCESS);
  expect_unsplit(*this, UnsplitReason::kernel);
}

TEST(UnsplitReason, PolicyOff) {
  InterposerFixture fixture(
      kit::with(default_settings(), &base::Settings::policy, {base::SplitPolicy::Kind::off, 0}));
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::policy);
}

TEST(UnsplitReason, DeniedKernel) {
  InterposerFixture fixture(kit::with(default_settings(), &base::Settings::deny, {"ad*"}));
  const cl_program program = fixture.make_program(kSplittable);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "add")), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::denied);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "sum")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
}

TEST(UnsplitReason, AllowedKernelsOnlyWhereSomethingCannotBeCompensated) {
  base::Settings settings = default_settings();
  settings.allow = {"may_*", "ad*", "reads_*", "sum"};
  settings.deny = {"sum"};
  InterposerFixture fixture(settings);
  const auto launch = [&](const char* source, const char* kernel) {
    ASSERT_EQ(fixture.launch(fixture.make_kernel(source, kernel)), CL_SUCCESS);
  };
  launch(kMayWait, "may_wait");
  launch("kernel void add(global int* data, int n) { asm(\"\"); }", "add");
  EXPECT_EQ(InterposerFixture::statistics().split, 2U);
  launch("kernel void reads_group_id(global int* data, int n) { data[0] = __builtin_of_the_compiler(); }",
         "reads_group_id");
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::kernel), 1U);
  launch(kSplittable, "sum");
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::denied), 1U);
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
  ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {127, 1}), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::small);
}

TEST(UnsplitReason, AllGroupsResident) {
  InterposerFixture fixture(
      settings_of_the_device());  // 2 compute units of at most 128 groups or 2048 items: 256
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  expect_unsplit(fixture, UnsplitReason::resident);
}

TEST(DeviceOccupancy, LimitsTheSliceCount) {
  InterposerFixture fixture(settings_of_the_device(),
                            kit::with(default_driver(), &sim::Options::compute_units, 1));
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().slices, 2U);
  fixture.expect_each_item_ran(1);
}

TEST_F(UnsplitLaunch, OneGroup) {
  const cl_kernel kernel = make_kernel();
  ASSERT_EQ(cl.launch(queue, kernel, {1024, 1024}), CL_SUCCESS);
  expect_unsplit(*this, UnsplitReason::one_group);
}

TEST_F(UnsplitLaunch, WaitingKernelWithResidentGroups) {
  // 2 compute units of at most 128 groups: 256
  ASSERT_EQ(launch(make_kernel(kMayWait, "may_wait")), CL_SUCCESS);
  EXPECT_EQ(statistics().split, 0U) << "4096 items in groups of 16 are 256 groups";
  expect_unsplit(*this, UnsplitReason::kernel);
}

TEST_F(UnsplitLaunch, CommunicatingKernelThatCannotWaitIsSplit) {
  ASSERT_EQ(launch(make_kernel(kUsesAtomics, "uses_atomics")), CL_SUCCESS);
  EXPECT_EQ(statistics().slices, 20U);
  expect_each_item_ran(1);
}

TEST_F(UnsplitLaunch, ProgramFromAForeignBinary) {
  ASSERT_EQ(launch(make_kernel(loaded(foreign_binary(kSplittable)), "add")), CL_SUCCESS);
  expect_unsplit(*this, UnsplitReason::binary);
}

cl_int CL_API_CALL record_nothing(void*, cl_command_queue, const void*, cl_kernel, cl_uint, const size_t*,
                                  const size_t*, const size_t*, cl_uint, const cl_uint*, cl_uint* point,
                                  void*) {
  *point = 7;
  return CL_SUCCESS;
}

TEST_F(UnsplitLaunch, RecordedLaunch) {
  constexpr const char* kName = "clCommandNDRangeKernelKHR";
  EXPECT_EQ(cl.clGetExtensionFunctionAddressForPlatform(driver.platform(), kName), nullptr);
  driver.extension(kName, reinterpret_cast<void*>(record_nothing));
  const auto command = reinterpret_cast<decltype(&record_nothing)>(
      cl.clGetExtensionFunctionAddressForPlatform(driver.platform(), kName));
  const std::size_t global = 4096;
  cl_uint point = 0;
  EXPECT_EQ(command(nullptr, nullptr, nullptr, make_kernel(), 1, nullptr, &global, nullptr, 0, nullptr,
                    &point, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(point, 7U);
  EXPECT_EQ(unsplit(UnsplitReason::recorded), 1U);
  EXPECT_EQ(
      command(nullptr, nullptr, nullptr, nullptr, 1, nullptr, &global, nullptr, 0, nullptr, &point, nullptr),
      CL_INVALID_KERNEL);
}

TEST_F(LinkedProgram, IsSplittableIfAllInputsAre) {
  ASSERT_EQ(launch(make_kernel(linked({compiled(kSplittable)}), "add")), CL_SUCCESS);
  EXPECT_EQ(statistics().split, 1U);
}

// As hashcat builds its programs.
TEST_F(LinkedProgram, OfOneInputTheKernelsAreTakenByThemselves) {
  const std::string two =
      std::string(kSplittable) + "kernel void other(global int* data, int n) { asm(\"\"); }";
  const cl_program program = linked({compiled(two.c_str())});
  ASSERT_EQ(launch(make_kernel(program, "add")), CL_SUCCESS);
  EXPECT_EQ(statistics().split, 1U);
  ASSERT_EQ(launch(make_kernel(program, "other")), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::kernel), 1U);
}

TEST_F(LinkedProgram, IsUnsplitIfOneInputIsUncertain) {
  const char* doubtful = "kernel void other(global int* data, int n) { asm(\"\"); }";
  ASSERT_EQ(launch(make_kernel(linked({compiled(kSplittable), compiled(doubtful)}), "add")), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::kernel), 1U);
  EXPECT_EQ(statistics().split, 0U);
}

TEST_F(Kernels, AreRecordedHoweverCreated) {
  const cl_program program = make_program(kSplittable);
  std::array<cl_kernel, 3> kernels{};
  cl_uint count = 0;
  ASSERT_EQ(cl.clCreateKernelsInProgram(program, 3, kernels.data(), &count), CL_SUCCESS);
  ASSERT_EQ(count, 3U);
  const kit::Kernel clone = cl.own(cl.clCloneKernel(with_arguments(kernels[0]), nullptr));
  for (const cl_kernel kernel : {kernels[0], kernels[1], clone.get()}) {
    ASSERT_EQ(launch(with_arguments(kernel)), CL_SUCCESS);
  }
  EXPECT_EQ(statistics().split, 3U);
  for (const cl_kernel kernel : kernels) cl.clReleaseKernel(kernel);
}

TEST_F(Kernels, AreCountedWithoutAnOutputArray) {
  const cl_program program = make_program(kSplittable);
  std::array<cl_kernel, 3> kernels{};
  cl_uint count = 77;
  EXPECT_EQ(cl.clCreateKernelsInProgram(program, 1, kernels.data(), &count), CL_INVALID_VALUE);
  EXPECT_EQ(count, 3U);
  count = 77;
  EXPECT_EQ(cl.clCreateKernelsInProgram(nullptr, 1, kernels.data(), &count), CL_INVALID_PROGRAM);
  EXPECT_EQ(count, 77U);
}

TEST_F(Kernels, OutliveTheirProgramsHandle) {
  kit::Program program = cl.build(context, kSplittable);
  const kit::Kernel kernel = cl.kernel(program, "add", buffer, cl_int{1});
  program.reset();
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(statistics().split, 1U);
}

TEST_F(Queues, AreRecordedHoweverCreated) {
  const cl_kernel kernel = make_kernel();
  const cl_queue_properties out_of_order[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  using Create =
      cl_command_queue(CL_API_CALL*)(cl_context, cl_device_id, const cl_queue_properties*, cl_int*);
  const auto create_khr = reinterpret_cast<Create>(cl.clGetExtensionFunctionAddressForPlatform(
      driver.platform(), "clCreateCommandQueueWithPropertiesKHR"));
  ASSERT_NE(create_khr, nullptr);
  for (const cl_command_queue made :
       {keep(cl.clCreateCommandQueueWithProperties(context, device, out_of_order, nullptr)),
        keep(create_khr(context, device, out_of_order, nullptr))}) {
    ASSERT_NE(made, nullptr);
    driver.forget();
    ASSERT_EQ(launch_on(made, kernel), CL_SUCCESS);
    ASSERT_EQ(driver.launches().size(), 20U);
    EXPECT_EQ(driver.launches()[1].waits.size(), 1U) << "chained";
    EXPECT_EQ(driver.count("clGetCommandQueueInfo"), 0U) << "asked when it was made, not at each launch";
    cl.clFinish(made);
  }
}

class NullLocal : public testing::TestWithParam<bool> {};

TEST_P(NullLocal, IsChosenOnceForAllSlices) {
  InterposerFixture fixture(default_settings(),
                            kit::with(default_driver(), &sim::Options::suggested_local_size, GetParam()));
  const cl_kernel kernel = fixture.make_kernel();
  ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {InterposerFixture::kItems}), CL_SUCCESS);
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
    InterposerFixture fixture(
        default_settings(), kit::with(default_driver(), &sim::Options::required_size_refuses_null, refuses));
    const cl_kernel kernel = fixture.make_kernel(kSplittable, "fixed");
    EXPECT_EQ(fixture.cl.launch(fixture.queue, kernel, {InterposerFixture::kItems}),
              refuses ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS);
    EXPECT_EQ(fixture.driver.executions().size() <= 1, true);
  }
}

constexpr std::size_t kPartial = 4090;  // items, in groups of 16

TEST_F(PartialGroups, AreSplitOnceTheDriverHasAcceptedThem) {
  const cl_kernel kernel = make_kernel();
  ASSERT_EQ(cl.launch(queue, kernel, {kPartial, 16}), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::shape), 1U);
  ASSERT_EQ(cl.launch(queue, kernel, {kPartial, 16}), CL_SUCCESS);
  EXPECT_EQ(statistics().split, 1U);
  cl.clFinish(queue);
  const auto content = read();
  for (std::size_t i = 0; i < content.size(); ++i) EXPECT_EQ(content[i], i < kPartial ? 2 : 0);
}

TEST(ConfiguredPartialGroups, RejectedByTheDriverReturnItsError) {
  InterposerFixture fixture(default_settings(),
                            kit::with(default_driver(), &sim::Options::non_uniform, false));
  const cl_kernel kernel = fixture.make_kernel();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fixture.cl.launch(fixture.queue, kernel, {kPartial, 16}), CL_INVALID_WORK_GROUP_SIZE);
  }
  EXPECT_TRUE(fixture.driver.launches().empty());
  EXPECT_EQ(InterposerFixture::statistics().launches, 0U);
}

TEST_F(Tasks, AreSingleGroupLaunches) {
  const cl_kernel kernel = make_kernel();
  EXPECT_EQ(cl.clEnqueueTask(queue, kernel, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::one_group), 1U);
  EXPECT_EQ(statistics().launches, 1U);
}

TEST(Disabled, ForwardsEverything) {
  InterposerFixture fixture(kit::with(default_settings(), &base::Settings::disable, true));
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.launches().size(), 1U);
  EXPECT_EQ(InterposerFixture::statistics().launches, 0U);
  EXPECT_EQ(fixture.cl.clEnqueueNDRangeKernel, sim::Driver::table().clEnqueueNDRangeKernel);
}

}  // namespace
}  // namespace cleave
