// Kernels that see the cut: built with the prelude, and split in slices that carry a tag.

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/kit/temporary_folder.h"
#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using plan::UnsplitReason;

using Prelude = InterposerTest<>;

base::Settings slices(std::size_t count) {
  return kit::with(default_settings(), &base::Settings::policy, {base::SplitPolicy::Kind::fixed, count},
                   &base::Settings::min_items, 0U);
}

// Each work-item notes all that it sees, at its place in the whole launch.
void record_all_ids(sim::Execution& execution) {
  const auto data = execution.buffer<cl_uint>(0);
  execution.for_each_item([&](const sim::Item& item) {
    const PreludeView seen(execution, item);
    std::size_t sum = seen.work_dim();
    for (unsigned d = 0; d < 3; ++d) {
      for (const std::size_t value : {seen.group_id(d), seen.num_groups(d), seen.global_size(d),
                                      seen.global_offset(d), seen.global_id(d), item.local_id[d]}) {
        sum = sum * 31 + value;
      }
    }
    data[seen.global_linear_id()] += static_cast<cl_uint>(sum);
  });
}

struct Shape {
  cl_uint dims;
  std::array<std::size_t, 3> offset, global, local;
  const char* name = "";
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

constexpr std::array<Shape, 13> kShapes = {{
    {1, {0, 0, 0}, {4096, 1, 1}, {16, 1, 1}, "OneDimension"},
    {1, {100, 0, 0}, {4000, 1, 1}, {16, 1, 1}, "OneDimensionWithOffset"},
    {2, {0, 0, 0}, {64, 64, 1}, {4, 4, 1}, "TwoDimensions"},
    {2, {3, 5, 0}, {32, 96, 1}, {8, 4, 1}, "TwoDimensionsWithOffset"},
    {2, {0, 0, 0}, {4096, 1, 1}, {16, 1, 1}, "TwoDimensionsOfOneRow"},
    {3, {1, 2, 0}, {16, 64, 1}, {4, 4, 1}, "ThreeDimensionsWithOffset"},
    {3, {0, 0, 0}, {512, 1, 1}, {2, 1, 1}, "ThreeDimensionsOfOneRow"},
    {3, {0, 0, 0}, {16, 4, 40}, {4, 2, 2}, "Volume"},
    {3, {9, 8, 0}, {8, 4, 128}, {8, 4, 1}, "VolumeOfLayersWithOffset"},
    {3, {9, 0, 7}, {8, 64, 4}, {8, 2, 4}, "VolumeOfOneLayerWithOffset"},
    {3, {0, 0, 7}, {64, 64, 1}, {4, 4, 1}, "PlaneWithOffsetInTheThirdDimension"},
    {3, {0, 0, 0}, {32, 6, 6}, {2, 2, 3}, "VolumeOfFewLayers"},
    {3, {0, 0, 0}, {512, 2, 4}, {2, 2, 4}, "VolumeOfOneRow"},
}};

cl_int launch(const InterposerFixture& fixture, cl_kernel kernel, const Shape& shape) {
  return fixture.cl.clEnqueueNDRangeKernel(fixture.queue, kernel, shape.dims, shape.offset.data(),
                                           shape.global.data(), shape.local.data(), 0, nullptr, nullptr);
}

std::vector<cl_int> what_it_saw(std::size_t wanted_slices, const Shape& shape, unsigned offset_bits,
                                std::size_t* driver_launches) {
  static const kit::TemporaryFolder probed;  // to probe a driver takes several times as long as the launch
  InterposerFixture fixture(
      kit::with(slices(wanted_slices), &base::Settings::cache, probed.file(std::to_string(offset_bits))),
      kit::with(default_driver(), &sim::Options::offset_bits, offset_bits));
  fixture.driver.kernel("reads_group_id", record_all_ids);
  const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "reads_group_id");
  fixture.driver.forget();
  EXPECT_EQ(launch(fixture, kernel, shape), CL_SUCCESS);
  *driver_launches = fixture.driver.launches().size();
  return fixture.read();
}

class TaggedSlices : public testing::TestWithParam<Shape> {};

TEST_P(TaggedSlices, ShowTheKernelTheWholeLaunch) {
  std::size_t launches = 0;
  const auto unsplit = what_it_saw(1, GetParam(), 64, &launches);
  EXPECT_EQ(launches, 1U);
  for (const unsigned offset_bits : {64U, 32U}) {
    for (const std::size_t wanted_slices : {2U, 3U, 7U, 20U, 500U}) {
      EXPECT_EQ(what_it_saw(wanted_slices, GetParam(), offset_bits, &launches), unsplit) << wanted_slices;
      EXPECT_GE(launches, 2U) << wanted_slices;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TaggedSlices, testing::ValuesIn(kShapes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(Prelude, IsInjectedOnlyWhereNeeded) {
  make_kernel();
  for (const sim::Call& call : driver.log()) {
    EXPECT_EQ(std::string(call.arguments).find("__cleave_on"), std::string::npos) << call.arguments;
  }
  EXPECT_EQ(driver.count("clBuildProgram"), 1U) << "and the driver is not tried out";
}

TEST_F(Prelude, IsInvisibleToTheProgram) {
  const cl_program program = make_program(kUsesGroupId, "-DX=1");
  std::array<char, 4096> text{};
  std::size_t size = 0;
  ASSERT_EQ(cl.clGetProgramInfo(program, CL_PROGRAM_SOURCE, text.size(), text.data(), &size), CL_SUCCESS);
  EXPECT_STREQ(text.data(), kUsesGroupId);
  EXPECT_EQ(size, std::strlen(kUsesGroupId) + 1);
  EXPECT_EQ(cl.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 3, text.data(), &size), CL_INVALID_VALUE);
  ASSERT_EQ(cl.clGetProgramBuildInfo(program, driver.device(), CL_PROGRAM_BUILD_OPTIONS, text.size(),
                                     text.data(), &size),
            CL_SUCCESS);
  EXPECT_STREQ(text.data(), "-DX=1");
  EXPECT_EQ(size, 6U);
}

TEST(ConfiguredPrelude, ThatDoesNotBuildIsDropped) {
  InterposerFixture fixture(default_settings(),
                            kit::with(default_driver(), &sim::Options::fail_build, "-D__cleave_on"));
  const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "reads_group_id");
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::driver), 1U) << "nor does the probe build with it";
  fixture.expect_each_item_ran(1);
}

TEST(ConfiguredPrelude, DoesNotAppearInBuildErrors) {
  InterposerFixture fixture(default_settings(),
                            kit::with(default_driver(), &sim::Options::fail_build, "no such thing"));
  const char* source = "kernel void reads_group_id(global int* a) { a[get_group_id(0)] = no such thing; }";
  const cl_program program = fixture.unbuilt_program(source);
  EXPECT_EQ(fixture.cl.build(program, nullptr), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(fixture.cl.clBuildProgram(program, 1, nullptr, nullptr, nullptr, nullptr), CL_INVALID_VALUE);
}

TEST_F(Prelude, IsDroppedWhereTheProgramRedefinesBuiltins) {
  const std::string source = std::string("#define get_group_id(d) 0\n") + kUsesGroupId;
  ASSERT_EQ(launch(make_kernel(source.c_str(), "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::kernel), 1U);
}

TEST_F(Prelude, IsDroppedWhereTheDriverLosesTags) {
  driver.kernel("cleave_probe", [](sim::Execution&) {});
  ASSERT_EQ(launch(make_kernel(kUsesGroupId, "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::driver), 1U);
}

TEST(ConfiguredPrelude, IsKeptWhereTheDriverLosesTagsOfVolumesOnly) {
  InterposerFixture fixture(slices(4));
  fixture.driver.kernel("cleave_probe", [](sim::Execution& execution) {
    std::size_t third = 0;
    execution.for_each_item([&](const sim::Item& item) { third = item.global_id[2]; });
    if (static_cast<std::uint32_t>(third) >> 29U != 4) probe_body(execution);
  });
  const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "reads_group_id");
  ASSERT_EQ(launch(fixture, kernel, {2, {0, 0, 0}, {64, 64, 1}, {4, 4, 1}}), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
  ASSERT_EQ(launch(fixture, kernel, {3, {0, 0, 0}, {16, 4, 40}, {4, 2, 2}}), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::no_tags), 1U);
}

TEST_F(Prelude, DriverIsProbedOnce) {
  make_program(kUsesGroupId);
  EXPECT_EQ(driver.count("clBuildProgram"), 2U) << "the program and the trial";
  make_program(kUsesGroupId);
  EXPECT_EQ(driver.count("clBuildProgram"), 3U);
}

TEST_F(Prelude, IsInjectedForNamesFromTheOptions) {
  const cl_program program = make_program(
      "kernel void reads_group_id(global int* data, int n) { data[G(0)] += n; }", "-DG=get_group_id");
  driver.forget();
  ASSERT_EQ(launch(make_kernel(program, "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(driver.launches().size(), 20U);
}

void CL_CALLBACK count_call(cl_program, void* data) { ++*static_cast<int*>(data); }

TEST(ConfiguredPrelude, BuildCallbackRunsOnce) {
  for (const char* fails : {"", "-D__cleave_on"}) {
    InterposerFixture fixture(default_settings(),
                              kit::with(default_driver(), &sim::Options::fail_build, fails));
    const cl_program program = fixture.unbuilt_program(kUsesGroupId);
    int calls = 0;
    EXPECT_EQ(fixture.cl.clBuildProgram(program, 0, nullptr, nullptr, count_call, &calls), CL_SUCCESS);
    fixture.driver.run_until_idle();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(fixture.cl.clBuildProgram(program, 0, nullptr, nullptr, nullptr, &calls), CL_INVALID_VALUE);
  }
}

TEST_F(Prelude, IsRemovedWhereKernelsCannotBeCreated) {
  const cl_program program = make_program(kUsesGroupId);
  cl_int error = 1;
  EXPECT_EQ(cl.clCreateKernel(program, "no such kernel", &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_KERNEL_NAME);
  driver.forget();
  driver.fail("clCreateKernel", 1, CL_OUT_OF_RESOURCES);
  const cl_kernel kernel = make_kernel(program, "reads_group_id");
  EXPECT_EQ(driver.count("clBuildProgram"), 2U) << "once to see whether that helps";
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::kernel), 1U);
}

TEST_F(Prelude, StaysWhereTheKernelNameIsInvalid) {
  const cl_program program = make_program(kUsesGroupId);
  for (const std::size_t builds : {1U, 0U}) {
    driver.forget();
    cl_int error = 1;
    EXPECT_EQ(cl.clCreateKernel(program, "kernel", &error), nullptr) << "a word of the text";
    EXPECT_EQ(error, CL_INVALID_KERNEL_NAME);
    EXPECT_EQ(driver.count("clBuildProgram"), builds) << "of another program, once";
  }
  ASSERT_EQ(launch(make_kernel(program, "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::kernel), 0U);
}

TEST_F(Prelude, CompiledProgramCreatesNoKernels) {
  const cl_program program = unbuilt_program(kUsesGroupId);
  ASSERT_EQ(cl.compile(program), CL_SUCCESS);
  driver.forget();
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(cl.clCreateKernel(program, "reads_group_id", &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_PROGRAM_EXECUTABLE);
  EXPECT_EQ(driver.count("clBuildProgram"), 0U);
}

TEST(TaggedSlices, NeedRoomInTheThirdDimension) {
  InterposerFixture fixture(slices(4));
  const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "reads_group_id");
  ASSERT_EQ(launch(fixture, kernel, {3, {0, 0, 0}, {1, 1, 8193}, {1, 1, 3}}), CL_SUCCESS);
  ASSERT_EQ(launch(fixture, kernel, {3, {0, 0, 8191}, {16, 16, 2}, {4, 4, 2}}), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::no_room_for_tag), 2U);
}

TEST(TaggedSlices, RejectACallersOffsetThatLooksLikeATag) {
  for (const unsigned bits : {64U, 32U}) {
    InterposerFixture fixture(slices(4), kit::with(default_driver(), &sim::Options::offset_bits, bits));
    fixture.driver.kernel("reads_group_id", [](sim::Execution&) {});
    const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "reads_group_id");
    const std::size_t wide = std::size_t{1} << 31U;
    EXPECT_EQ(launch(fixture, kernel, {3, {0, 0, wide}, {16, 1, 1}, {4, 1, 1}}),
              bits == 64 ? CL_SUCCESS : CL_INVALID_GLOBAL_OFFSET);
    EXPECT_EQ(launch(fixture, kernel, {3, {0, 0, wide - 1}, {16, 1, 1}, {4, 1, 1}}), CL_SUCCESS);
    EXPECT_EQ(launch(fixture, kernel, {3, {0, 0, ~std::size_t{15}}, {16, 1, 1}, {4, 1, 1}}),
              CL_INVALID_GLOBAL_OFFSET);
  }
}

TEST(TaggedSlices, LinkedProgramsAreSplit) {
  InterposerFixture fixture;
  const cl_program linked = fixture.linked({fixture.compiled(kUsesGroupId), fixture.compiled(kSplittable)});
  ASSERT_EQ(fixture.launch(fixture.make_kernel(linked, "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().slices, 20U);
}

// The second input does not build with the prelude, and get_global_id(2) would show it the tag.
TEST(TaggedSlices, LinkWithAnUninstrumentedInputIsUnsplit) {
  InterposerFixture fixture(default_settings(),
                            kit::with(default_driver(), &sim::Options::fail_build, "-DOTHER -D__cleave_on"));
  const cl_program linked =
      fixture.linked({fixture.compiled(kUsesGroupId), fixture.compiled(kSplittable, "-DOTHER")});
  ASSERT_EQ(fixture.launch(fixture.make_kernel(linked, "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(plan::UnsplitReason::kernel), 1U);
}

// How many calls switched the prelude on.
std::size_t with_prelude(const InterposerFixture& fixture) {
  const auto log = fixture.driver.log();
  return static_cast<std::size_t>(std::count_if(log.begin(), log.end(), [](const sim::Call& call) {
    return call.arguments.find("__cleave_on") != std::string::npos;
  }));
}

// What the macro's name stands for may be a function that another program calls.
TEST(TaggedSlices, CompiledObjectsKeepTheirNames) {
  const std::string source =
      std::string("#define NAME get_group_linear_id\n#ifdef NAME\n#endif\n") + kUsesGroupId;
  for (const bool compile : {false, true}) {
    InterposerFixture fixture;
    const cl_program program = fixture.unbuilt_program(source);
    EXPECT_EQ(compile ? fixture.cl.compile(program) : fixture.cl.build(program), CL_SUCCESS);
    EXPECT_EQ(with_prelude(fixture) == 0, compile);
  }
}

TEST(TaggedSlices, TrustedBinaryContainsThePrelude) {
  for (const bool trust : {false, true}) {
    InterposerFixture fixture(kit::with(default_settings(), &base::Settings::trust_binaries, trust));
    fixture.make_program(kSplittable);
    EXPECT_EQ(with_prelude(fixture) != 0, trust);
  }
}

// Sees the cut, and cannot be given the prelude.
constexpr const char* kMeddles = R"(
#define TEXT(x) #x
constant char text[] = TEXT(x);
kernel void reads_group_id(global int* data, int n) { data[get_group_id(0)] += n; })";

constexpr const char* kMeddlesUnnamed = R"(
#ifdef get_group_id
#endif
int other(int x) { return x + get_group_id(0); })";

// Made again from a binary with the prelude it would misread the same offset, trusted or not.
TEST(TaggedSlices, OffsetThatABinaryWouldTakeForATagIsRejected) {
  for (const bool trust : {false, true}) {
    InterposerFixture fixture(kit::with(slices(4), &base::Settings::trust_binaries, trust),
                              kit::with(default_driver(), &sim::Options::offset_bits, 32));
    fixture.driver.kernel("reads_group_id", [](sim::Execution&) {});
    const cl_kernel kernel =
        fixture.make_kernel(fixture.reloaded(fixture.make_program(kUsesGroupId)), "reads_group_id");
    const std::size_t wide = std::size_t{1} << 31U;
    EXPECT_EQ(launch(fixture, kernel, {3, {0, 0, wide}, {16, 1, 1}, {4, 1, 1}}), CL_INVALID_GLOBAL_OFFSET);
    EXPECT_EQ(launch(fixture, kernel, {3, {0, 0, wide - 1}, {16, 1, 1}, {4, 1, 1}}), CL_SUCCESS);
    // What has no prelude takes any offset.
    const cl_kernel plain =
        fixture.make_kernel(fixture.reloaded(fixture.make_program(trust ? kMeddles : kSplittable)),
                            trust ? "reads_group_id" : "add");
    EXPECT_EQ(launch(fixture, plain, {3, {0, 0, wide}, {16, 1, 1}, {4, 1, 1}}), CL_SUCCESS);
  }
}

// What came into a program with the prelude stays in it, also where the rest has none and nothing is split.
TEST(TaggedSlices, OffsetIsRejectedWherePartOfTheProgramWouldMisreadIt) {
  InterposerFixture fixture(slices(4), kit::with(default_driver(), &sim::Options::offset_bits, 32));
  fixture.driver.kernel("reads_group_id", [](sim::Execution&) {});
  constexpr Shape kWide{3, {0, 0, std::size_t{1} << 31U}, {16, 1, 1}, {4, 1, 1}};
  const cl_program linked =
      fixture.linked({fixture.compiled(kUsesGroupId), fixture.compiled(kMeddlesUnnamed)});
  EXPECT_EQ(launch(fixture, fixture.make_kernel(linked, "reads_group_id"), kWide), CL_INVALID_GLOBAL_OFFSET);

  const cl_program built = fixture.make_program(kUsesGroupId);
  const cl_device_id none = nullptr;
  ASSERT_NE(fixture.cl.clBuildProgram(built, 1, &none, "", nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(launch(fixture, fixture.make_kernel(built, "reads_group_id"), kWide), CL_INVALID_GLOBAL_OFFSET);
}

TEST(TaggedSlices, TrustedBinaryIsSplit) {
  for (const bool trust : {false, true}) {
    sim::Options options = default_driver();
    options.compute_units = 1;  // which cannot hold all groups at once: a binary may hold a barrier over them
    InterposerFixture fixture(kit::with(default_settings(), &base::Settings::trust_binaries, trust), options);
    fixture.driver.kernel("reads_group_id", record_all_ids);
    const cl_program loaded = fixture.loaded(fixture.foreign_binary(kUsesGroupId));
    ASSERT_EQ(fixture.launch(fixture.make_kernel(loaded, "reads_group_id")), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, trust ? 1U : 0U);
  }
}

// It may have been built without a prelude that takes tags off the ids of the third dimension.
TEST(TaggedSlices, TrustedBinaryIsNotSplitWhereItUsesTheThirdDimension) {
  sim::Options options = default_driver();
  options.compute_units = 1;
  InterposerFixture fixture(kit::with(slices(4), &base::Settings::trust_binaries, true), options);
  fixture.driver.kernel("reads_group_id", record_all_ids);
  const cl_kernel kernel =
      fixture.make_kernel(fixture.loaded(fixture.foreign_binary(kUsesGroupId)), "reads_group_id");
  for (const Shape& shape :
       {Shape{3, {0, 0, 0}, {16, 4, 40}, {4, 2, 2}}, Shape{3, {0, 0, 7}, {64, 64, 1}, {4, 4, 1}}})
    ASSERT_EQ(launch(fixture, kernel, shape), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::no_room_for_tag), 2U);
  ASSERT_EQ(launch(fixture, kernel, {3, {0, 0, 0}, {64, 64, 1}, {4, 4, 1}}), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
}

// Neither program could be given the prelude, so tags would show; the user's trust does not change that.
TEST(TaggedSlices, BinaryOfAnUnsplittableProgramIsNotTrusted) {
  for (const bool fails : {false, true}) {
    sim::Options options = default_driver();
    options.compute_units = 1;
    if (fails) options.fail_build = "-D__cleave_on";
    InterposerFixture fixture(kit::with(default_settings(), &base::Settings::trust_binaries, true), options);
    fixture.driver.kernel("reads_group_id", record_all_ids);
    const cl_program loaded = fixture.reloaded(fixture.make_program(fails ? kUsesGroupId : kMeddles));
    ASSERT_EQ(fixture.launch(fixture.make_kernel(loaded, "reads_group_id")), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(fails ? UnsplitReason::driver : UnsplitReason::kernel), 1U) << fails;
  }
}

// How many lines the cache folder's file about drivers has after a program whose kernel sees the cut.
std::ptrdiff_t lines_after_a_run(const kit::TemporaryFolder& folder) {
  InterposerFixture fixture(kit::with(default_settings(), &base::Settings::cache, folder.path()));
  fixture.driver.kernel("reads_group_id", record_all_ids);
  EXPECT_EQ(fixture.launch(fixture.make_kernel(kUsesGroupId, "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
  const std::string lines = kit::file_contents(folder.file("drivers"));
  return std::count(lines.begin(), lines.end(), '\n');
}

TEST(TaggedSlices, DriverCacheSurvivesADamagedLine) {
  const kit::TemporaryFolder folder;
  folder.write("drivers", "garbage\n2 0123 1\n");
  EXPECT_EQ(lines_after_a_run(folder), 3) << "tried out, and kept";
  EXPECT_EQ(lines_after_a_run(folder), 3) << "and found";
}

}  // namespace
}  // namespace cleave
