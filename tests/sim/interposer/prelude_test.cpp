// Kernels that see the cut: built with the prelude, and split in slices that carry a tag.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using plan::UnsplitReason;

base::Settings slices(std::size_t count) {
  base::Settings settings = default_settings();
  settings.policy = {base::SplitPolicy::Kind::fixed, count};
  settings.min_items = 0;
  return settings;
}

// Each work-item notes all that it sees, at its place in the whole launch.
void record_all_ids(sim::Execution& execution) {
  const auto data = execution.buffer<cl_int>(0);
  execution.for_each_item([&](const sim::Item& item) {
    const PreludeView seen(execution, item);
    std::size_t sum = seen.work_dim();
    for (unsigned d = 0; d < 3; ++d) {
      for (const std::size_t value : {seen.group_id(d), seen.num_groups(d), seen.global_size(d),
                                      seen.global_offset(d), seen.global_id(d), item.local_id[d]}) {
        sum = sum * 31 + value;
      }
    }
    data[seen.global_linear_id()] += static_cast<cl_int>(sum);
  });
}

struct Shape {
  cl_uint dims;
  std::array<std::size_t, 3> offset, global, local;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  const auto list = [&out](const char* name, const std::array<std::size_t, 3>& sizes) {
    out << name << sizes[0] << 'x' << sizes[1] << 'x' << sizes[2];
  };
  out << shape.dims << " dimensions";
  list(", offset ", shape.offset);
  list(", global ", shape.global);
  list(", local ", shape.local);
  return out;
}

constexpr std::array<Shape, 7> kShapes = {{
    {1, {0, 0, 0}, {4096, 1, 1}, {16, 1, 1}},
    {1, {100, 0, 0}, {4000, 1, 1}, {16, 1, 1}},
    {2, {0, 0, 0}, {64, 64, 1}, {4, 4, 1}},
    {2, {3, 5, 0}, {32, 96, 1}, {8, 4, 1}},
    {2, {0, 0, 0}, {4096, 1, 1}, {16, 1, 1}},
    {3, {1, 2, 0}, {16, 64, 1}, {4, 4, 1}},
    {3, {0, 0, 0}, {512, 1, 1}, {2, 1, 1}},
}};

cl_int launch(const InterposerFixture& fixture, cl_kernel kernel, const Shape& shape) {
  return fixture.cl.clEnqueueNDRangeKernel(fixture.queue, kernel, shape.dims, shape.offset.data(),
                                           shape.global.data(), shape.local.data(), 0, nullptr, nullptr);
}

std::vector<cl_int> what_it_saw(const base::Settings& settings, const Shape& shape,
                                std::size_t* driver_launches) {
  InterposerFixture fixture(settings);
  fixture.driver.kernel("seer", record_all_ids);
  const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "seer");
  fixture.driver.forget();
  EXPECT_EQ(launch(fixture, kernel, shape), CL_SUCCESS);
  *driver_launches = fixture.driver.launches().size();
  return fixture.read();
}

class TaggedSlices : public testing::TestWithParam<Shape> {};

TEST_P(TaggedSlices, ShowTheKernelTheWholeLaunch) {
  std::size_t launches = 0;
  const auto unsplit = what_it_saw(slices(1), GetParam(), &launches);
  EXPECT_EQ(launches, 1U);
  for (const std::size_t wanted_slices : {2U, 3U, 7U, 20U, 500U}) {
    EXPECT_EQ(what_it_saw(slices(wanted_slices), GetParam(), &launches), unsplit) << wanted_slices;
    EXPECT_GE(launches, 2U) << wanted_slices;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TaggedSlices, testing::ValuesIn(kShapes));

TEST(Prelude, IsInjectedOnlyWhereNeeded) {
  InterposerFixture fixture;
  fixture.make_kernel();
  for (const sim::Call& call : fixture.driver.log()) {
    EXPECT_EQ(std::string(call.arguments).find("__cleave_on"), std::string::npos) << call.arguments;
  }
  EXPECT_EQ(fixture.driver.count("clBuildProgram"), 1U) << "and the driver is not tried out";
}

TEST(Prelude, IsInvisibleToTheProgram) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(kUsesGroupId, "-DX=1");
  std::array<char, 4096> text{};
  std::size_t size = 0;
  ASSERT_EQ(fixture.cl.clGetProgramInfo(program, CL_PROGRAM_SOURCE, text.size(), text.data(), &size),
            CL_SUCCESS);
  EXPECT_STREQ(text.data(), kUsesGroupId);
  EXPECT_EQ(size, std::strlen(kUsesGroupId) + 1);
  EXPECT_EQ(fixture.cl.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 3, text.data(), &size), CL_INVALID_VALUE);
  ASSERT_EQ(fixture.cl.clGetProgramBuildInfo(program, fixture.driver.device(), CL_PROGRAM_BUILD_OPTIONS,
                                             text.size(), text.data(), &size),
            CL_SUCCESS);
  EXPECT_STREQ(text.data(), "-DX=1");
  EXPECT_EQ(size, 6U);
}

TEST(Prelude, ThatDoesNotBuildIsDropped) {
  sim::Options options = default_driver();
  options.fail_build = "-D__cleave_on";
  InterposerFixture fixture(default_settings(), options);
  const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "seer");
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::kernel), 1U);
  fixture.expect_each_item_ran(1);
}

TEST(Prelude, DoesNotAppearInBuildErrors) {
  sim::Options options = default_driver();
  options.fail_build = "no such thing";
  InterposerFixture fixture(default_settings(), options);
  const char* source = "kernel void seer(global int* a) { a[get_group_id(0)] = no such thing; }";
  const cl_program program =
      fixture.keep(fixture.cl.clCreateProgramWithSource(fixture.context, 1, &source, nullptr, nullptr));
  EXPECT_EQ(fixture.cl.build(program, nullptr), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(fixture.cl.clBuildProgram(program, 1, nullptr, nullptr, nullptr, nullptr), CL_INVALID_VALUE);
}

TEST(Prelude, IsDroppedWhereTheProgramRedefinesBuiltins) {
  InterposerFixture fixture;
  const std::string source = std::string("#define get_group_id(d) 0\n") + kUsesGroupId;
  ASSERT_EQ(fixture.launch(fixture.make_kernel(source.c_str(), "seer")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::kernel), 1U);
}

TEST(Prelude, IsDroppedWhereTheDriverLosesTags) {
  InterposerFixture fixture;
  fixture.driver.kernel("cleave_probe", [](sim::Execution&) {});
  ASSERT_EQ(fixture.launch(fixture.make_kernel(kUsesGroupId, "seer")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::kernel), 1U);
}

TEST(Prelude, DriverIsProbedOnce) {
  InterposerFixture fixture;
  fixture.make_program(kUsesGroupId);
  EXPECT_EQ(fixture.driver.count("clBuildProgram"), 2U) << "the program and the trial";
  fixture.make_program(kUsesGroupId);
  EXPECT_EQ(fixture.driver.count("clBuildProgram"), 3U);
}

TEST(Prelude, IsInjectedForNamesFromTheOptions) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(
      "kernel void seer(global int* data, int n) { data[G(0)] += n; }", "-DG=get_group_id");
  fixture.driver.forget();
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "seer")), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.launches().size(), 20U);
}

void CL_CALLBACK count_call(cl_program, void* data) { ++*static_cast<int*>(data); }

TEST(Prelude, BuildCallbackRunsOnce) {
  sim::Options options = default_driver();
  for (const char* fails : {"", "-D__cleave_on"}) {
    options.fail_build = fails;
    InterposerFixture fixture(default_settings(), options);
    const char* source = kUsesGroupId;
    const cl_program program =
        fixture.keep(fixture.cl.clCreateProgramWithSource(fixture.context, 1, &source, nullptr, nullptr));
    int calls = 0;
    EXPECT_EQ(fixture.cl.clBuildProgram(program, 0, nullptr, nullptr, count_call, &calls), CL_SUCCESS);
    fixture.driver.run_until_idle();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(fixture.cl.clBuildProgram(program, 0, nullptr, nullptr, nullptr, &calls), CL_INVALID_VALUE);
  }
}

TEST(Prelude, IsRemovedWhereKernelsCannotBeCreated) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(kUsesGroupId);
  cl_int error = 1;
  EXPECT_EQ(fixture.cl.clCreateKernel(program, "no such kernel", &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_KERNEL_NAME);
  fixture.driver.forget();
  fixture.driver.fail("clCreateKernel", 1, CL_OUT_OF_RESOURCES);
  const cl_kernel kernel = fixture.make_kernel(program, "seer");
  EXPECT_EQ(fixture.driver.count("clBuildProgram"), 2U) << "once to see whether that helps";
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::kernel), 1U);
}

TEST(Prelude, StaysWhereTheKernelNameIsInvalid) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(kUsesGroupId);
  for (const std::size_t builds : {1U, 0U}) {
    fixture.driver.forget();
    cl_int error = 1;
    EXPECT_EQ(fixture.cl.clCreateKernel(program, "kernel", &error), nullptr) << "a word of the text";
    EXPECT_EQ(error, CL_INVALID_KERNEL_NAME);
    EXPECT_EQ(fixture.driver.count("clBuildProgram"), builds) << "of another program, once";
  }
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "seer")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::kernel), 0U);
}

TEST(Prelude, CompiledProgramCreatesNoKernels) {
  InterposerFixture fixture;
  const char* source = kUsesGroupId;
  const cl_program program =
      fixture.keep(fixture.cl.clCreateProgramWithSource(fixture.context, 1, &source, nullptr, nullptr));
  ASSERT_EQ(fixture.cl.clCompileProgram(program, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr),
            CL_SUCCESS);
  fixture.driver.forget();
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(fixture.cl.clCreateKernel(program, "seer", &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_PROGRAM_EXECUTABLE);
  EXPECT_EQ(fixture.driver.count("clBuildProgram"), 0U);
}

TEST(TaggedSlices, NeedAFreeThirdDimension) {
  InterposerFixture fixture(slices(4));
  const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "seer");
  ASSERT_EQ(launch(fixture, kernel, {3, {0, 0, 0}, {16, 16, 4}, {4, 4, 1}}), CL_SUCCESS);
  ASSERT_EQ(launch(fixture, kernel, {3, {0, 0, 7}, {16, 16, 1}, {4, 4, 1}}), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::shape), 2U);
}

TEST(TaggedSlices, RejectACallersOffsetThatLooksLikeATag) {
  for (const unsigned bits : {64U, 32U}) {
    sim::Options options = default_driver();
    options.offset_bits = bits;
    InterposerFixture fixture(slices(4), options);
    fixture.driver.kernel("seer", [](sim::Execution&) {});
    const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "seer");
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
  std::vector<cl_program> inputs;
  for (const char* source : {kUsesGroupId, kSplittable}) {
    inputs.push_back(
        fixture.keep(fixture.cl.clCreateProgramWithSource(fixture.context, 1, &source, nullptr, nullptr)));
    ASSERT_EQ(
        fixture.cl.clCompileProgram(inputs.back(), 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr),
        CL_SUCCESS);
  }
  const cl_program linked = fixture.keep(
      fixture.cl.clLinkProgram(fixture.context, 0, nullptr, "", 2, inputs.data(), nullptr, nullptr, nullptr));
  ASSERT_EQ(fixture.launch(fixture.make_kernel(linked, "seer")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().slices, 20U);
}

// The second input does not build with the prelude, and get_global_id(2) would show it the tag.
TEST(TaggedSlices, LinkWithAnUninstrumentedInputIsUnsplit) {
  sim::Options driver = default_driver();
  driver.fail_build = "-D__cleave_on -DOTHER";
  InterposerFixture fixture(default_settings(), driver);
  std::vector<cl_program> inputs;
  for (const auto& [source, options] : {std::pair(kUsesGroupId, ""), std::pair(kSplittable, "-DOTHER")}) {
    inputs.push_back(fixture.keep(fixture.cl.clCreateProgramWithSource(
        fixture.context, 1, const_cast<const char**>(&source), nullptr, nullptr)));
    ASSERT_EQ(fixture.cl.clCompileProgram(inputs.back(), 0, nullptr, options, 0, nullptr, nullptr, nullptr,
                                          nullptr),
              CL_SUCCESS);
  }
  const cl_program linked = fixture.keep(
      fixture.cl.clLinkProgram(fixture.context, 0, nullptr, "", 2, inputs.data(), nullptr, nullptr, nullptr));
  ASSERT_EQ(fixture.launch(fixture.make_kernel(linked, "seer")), CL_SUCCESS);
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
  const std::string source = std::string("#define NAME get_group_linear_id\n") + kUsesGroupId;
  for (const bool compile : {false, true}) {
    InterposerFixture fixture;
    const char* text = source.c_str();
    const cl_program program =
        fixture.keep(fixture.cl.clCreateProgramWithSource(fixture.context, 1, &text, nullptr, nullptr));
    EXPECT_EQ(
        compile ? fixture.cl.clCompileProgram(program, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr)
                : fixture.cl.build(program),
        CL_SUCCESS);
    EXPECT_EQ(with_prelude(fixture) == 0, compile);
  }
}

TEST(TaggedSlices, TrustedBinaryContainsThePrelude) {
  for (const bool trust : {false, true}) {
    base::Settings settings = default_settings();
    settings.trust_binaries = trust;
    InterposerFixture fixture(settings);
    fixture.make_program(kSplittable);
    EXPECT_EQ(with_prelude(fixture) != 0, trust);
  }
}

// Sees the cut, and cannot be given the prelude.
constexpr const char* kMeddles = R"(
#define TEXT(x) #x
kernel void seer(global int* data, int n) { data[get_group_id(0)] += n; })";

constexpr const char* kMeddlesUnnamed = R"(
#ifdef get_group_id
#endif
int other(int x) { return x + get_group_id(0); })";

// The program, made again from its binary.
cl_program reloaded(InterposerFixture& fixture, cl_program program) {
  const auto size = fixture.cl.info<std::size_t>(program, CL_PROGRAM_BINARY_SIZES);
  std::vector<unsigned char> binary(size);
  unsigned char* to = binary.data();
  fixture.cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr);
  const unsigned char* from = binary.data();
  const cl_device_id device = fixture.driver.device();
  const cl_program loaded = fixture.keep(
      fixture.cl.clCreateProgramWithBinary(fixture.context, 1, &device, &size, &from, nullptr, nullptr));
  EXPECT_EQ(fixture.cl.build(loaded, nullptr), CL_SUCCESS);
  return loaded;
}

// Made again from a binary with the prelude it would misread the same offset, trusted or not.
TEST(TaggedSlices, OffsetThatABinaryWouldTakeForATagIsRejected) {
  for (const bool trust : {false, true}) {
    base::Settings settings = slices(4);
    settings.trust_binaries = trust;
    sim::Options options = default_driver();
    options.offset_bits = 32;
    InterposerFixture fixture(settings, options);
    fixture.driver.kernel("seer", [](sim::Execution&) {});
    const cl_kernel kernel =
        fixture.make_kernel(reloaded(fixture, fixture.make_program(kUsesGroupId)), "seer");
    const std::size_t wide = std::size_t{1} << 31U;
    EXPECT_EQ(launch(fixture, kernel, {3, {0, 0, wide}, {16, 1, 1}, {4, 1, 1}}), CL_INVALID_GLOBAL_OFFSET);
    EXPECT_EQ(launch(fixture, kernel, {3, {0, 0, wide - 1}, {16, 1, 1}, {4, 1, 1}}), CL_SUCCESS);
    // What has no prelude takes any offset.
    const cl_kernel plain = fixture.make_kernel(
        reloaded(fixture, fixture.make_program(trust ? kMeddles : kSplittable)), trust ? "seer" : "add");
    EXPECT_EQ(launch(fixture, plain, {3, {0, 0, wide}, {16, 1, 1}, {4, 1, 1}}), CL_SUCCESS);
  }
}

// What came into a program with the prelude stays in it, also where the rest has none and nothing is split.
TEST(TaggedSlices, OffsetIsRejectedWherePartOfTheProgramWouldMisreadIt) {
  sim::Options options = default_driver();
  options.offset_bits = 32;
  InterposerFixture fixture(slices(4), options);
  fixture.driver.kernel("seer", [](sim::Execution&) {});
  constexpr Shape kWide{3, {0, 0, std::size_t{1} << 31U}, {16, 1, 1}, {4, 1, 1}};
  std::vector<cl_program> inputs;
  for (const char* source : {kUsesGroupId, kMeddlesUnnamed}) {
    inputs.push_back(
        fixture.keep(fixture.cl.clCreateProgramWithSource(fixture.context, 1, &source, nullptr, nullptr)));
    ASSERT_EQ(
        fixture.cl.clCompileProgram(inputs.back(), 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr),
        CL_SUCCESS);
  }
  const cl_program linked = fixture.keep(
      fixture.cl.clLinkProgram(fixture.context, 0, nullptr, "", 2, inputs.data(), nullptr, nullptr, nullptr));
  EXPECT_EQ(launch(fixture, fixture.make_kernel(linked, "seer"), kWide), CL_INVALID_GLOBAL_OFFSET);

  const cl_program built = fixture.make_program(kUsesGroupId);
  const cl_device_id none = nullptr;
  ASSERT_NE(fixture.cl.clBuildProgram(built, 1, &none, "", nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(launch(fixture, fixture.make_kernel(built, "seer"), kWide), CL_INVALID_GLOBAL_OFFSET);
}

TEST(TaggedSlices, TrustedBinaryIsSplit) {
  for (const bool trust : {false, true}) {
    base::Settings settings = default_settings();
    settings.trust_binaries = trust;
    sim::Options options = default_driver();
    options.compute_units = 1;  // which cannot hold all groups at once: a binary may hold a barrier over them
    InterposerFixture fixture(settings, options);
    fixture.driver.kernel("seer", record_all_ids);
    const cl_program loaded = reloaded(fixture, fixture.make_program(kUsesGroupId));
    ASSERT_EQ(fixture.launch(fixture.make_kernel(loaded, "seer")), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, trust ? 1U : 0U);
  }
}

// Neither program could be given the prelude, so tags would show; the user's trust does not change that.
TEST(TaggedSlices, BinaryOfAnUnsplittableProgramIsNotTrusted) {
  for (const bool fails : {false, true}) {
    base::Settings settings = default_settings();
    settings.trust_binaries = true;
    sim::Options options = default_driver();
    options.compute_units = 1;
    if (fails) options.fail_build = "-D__cleave_on";
    InterposerFixture fixture(settings, options);
    fixture.driver.kernel("seer", record_all_ids);
    const cl_program loaded = reloaded(fixture, fixture.make_program(fails ? kUsesGroupId : kMeddles));
    ASSERT_EQ(fixture.launch(fixture.make_kernel(loaded, "seer")), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(plan::UnsplitReason::binary), 1U) << fails;
  }
}

// How many lines the cache folder's file about drivers has after a program whose kernel sees the cut.
std::ptrdiff_t lines_after_a_run(const std::string& folder) {
  base::Settings settings = default_settings();
  settings.cache = folder;
  InterposerFixture fixture(settings);
  fixture.driver.kernel("seer", record_all_ids);
  EXPECT_EQ(fixture.launch(fixture.make_kernel(kUsesGroupId, "seer")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
  std::ifstream file(folder + "/drivers");
  return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
}

TEST(TaggedSlices, DriverCacheSurvivesADamagedLine) {
  std::string folder = testing::TempDir() + "cleave-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/drivers") << "garbage\n1 0123 1\n";
  EXPECT_EQ(lines_after_a_run(folder), 3) << "tried out, and kept";
  EXPECT_EQ(lines_after_a_run(folder), 3) << "and found";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cleave
