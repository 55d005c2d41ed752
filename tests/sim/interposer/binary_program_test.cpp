// Programs made from binaries that Cleave gave the program: as well known as their source.

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/driver_platform.h"
#include "cleave/cleave.h"
#include "tests/kit/temporary_folder.h"
#include "tests/kit/threads.h"
#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using plan::UnsplitReason;
using Bytes = std::vector<unsigned char>;

using KnownBinary = InterposerTest<>;

base::Settings kept_in(const kit::TemporaryFolder& folder) {
  return kit::with(default_settings(), &base::Settings::cache, folder.path());
}

void note_group_id(sim::Execution& execution) {
  const auto data = execution.buffer<cl_int>(0);
  execution.for_each_item([&](const sim::Item& item) {
    const PreludeView seen(execution, item);
    data[seen.global_linear_id()] += static_cast<cl_int>(seen.group_id(0) + 1000 * seen.num_groups(0));
  });
}

// What note_group_id leaves behind after one launch.
std::vector<cl_int> group_ids() {
  std::vector<cl_int> ids(InterposerFixture::kItems);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<cl_int>(i / 16 + 1000 * (InterposerFixture::kItems / 16));
  return ids;
}

// Of one process after another: what a program with this source stores in the first.
Bytes stored_by_a_first_process(const base::Settings& settings, const char* source,
                                const sim::Options& options = default_driver()) {
  InterposerFixture fixture(settings, options);
  fixture.driver.kernel("reads_group_id", note_group_id);
  return fixture.cl.binary(fixture.make_program(source));
}

TEST_F(KnownBinary, IsSplitInPlainSlices) {
  ASSERT_EQ(launch(make_kernel(reloaded(make_program(kSplittable)), "add")), CL_SUCCESS);
  EXPECT_EQ(statistics().slices, 20U);
  expect_each_item_ran(1);
}

TEST_F(KnownBinary, HasThePreludeOfItsBuild) {
  driver.kernel("reads_group_id", note_group_id);
  ASSERT_EQ(launch(make_kernel(reloaded(make_program(kUsesGroupId)), "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(statistics().slices, 20U);
  EXPECT_EQ(read(), group_ids());
}

TEST_F(KnownBinary, StaysKnownFromOneProgramToTheNext) {
  const cl_program again = reloaded(reloaded(reloaded(make_program(kUsesGroupId))));
  ASSERT_EQ(launch(make_kernel(again, "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(statistics().slices, 20U);
}

// The kernel of the first program may wait for other groups; what is built without the prelude would see a tag.
TEST(KnownBinaryOfAnUnsplittableKernel, StaysUnsplit) {
  for (const bool fails : {false, true}) {
    sim::Options options = default_driver();
    if (fails) options.fail_build = "-D__cleave_on";
    InterposerFixture fixture(default_settings(), options);
    const cl_program program = fixture.make_program(fails ? kUsesGroupId : kMayWait);
    const char* const name = fails ? "reads_group_id" : "may_wait";
    ASSERT_EQ(fixture.launch(fixture.make_kernel(fixture.reloaded(program), name)), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(fails ? UnsplitReason::driver : UnsplitReason::kernel), 1U) << name;
  }
}

TEST_F(KnownBinary, IsKnownKernelByKernel) {
  const cl_program program = reloaded(make_program(std::string(kSplittable) + kMayWait));
  ASSERT_EQ(launch(make_kernel(program, "may_wait")), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::kernel), 1U);
  ASSERT_EQ(launch(make_kernel(program, "add")), CL_SUCCESS);
  EXPECT_EQ(statistics().slices, 20U);
}

TEST_F(KnownBinary, OfEachBuildIsAnother) {
  const cl_program program = make_program(kUsesGroupId);
  const Bytes tagged = cl.binary(program);
  // The program does not use the names as the prelude needs it, with this option.
  ASSERT_EQ(cl.build(program, "-Dget_group_id=get_local_id"), CL_SUCCESS);
  const Bytes plain = cl.binary(program);
  EXPECT_NE(plain, tagged);
  ASSERT_EQ(launch(make_kernel(loaded(plain), "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(unsplit(UnsplitReason::kernel), 1U);
  ASSERT_EQ(launch(make_kernel(loaded(tagged), "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(statistics().split, 1U);
}

TEST_F(KnownBinary, OfACompiledProgramIsLinkedLikeIt) {
  driver.kernel("reads_group_id", note_group_id);
  std::vector<cl_program> inputs;
  for (const char* source : {kUsesGroupId, kSplittable})
    inputs.push_back(keep(cl.program(context, device, cl.binary(compiled(source)))));
  const cl_program program = reloaded(linked(inputs));
  ASSERT_EQ(launch(make_kernel(program, "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(read(), group_ids());
  ASSERT_EQ(launch(make_kernel(program, "add")), CL_SUCCESS);
  EXPECT_EQ(statistics().split, 2U);
}

TEST_F(KnownBinary, MadeElsewhereIsNotKnown) {
  const cl_program program = loaded(foreign_binary(kSplittable));
  ASSERT_EQ(launch(make_kernel(program, "add")), CL_SUCCESS);
  ASSERT_EQ(launch(make_kernel(reloaded(program), "add")), CL_SUCCESS) << "nor what the driver makes of it";
  EXPECT_EQ(unsplit(UnsplitReason::binary), 2U);
}

TEST(KnownBinaryInALaterProcess, IsSplit) {
  const kit::TemporaryFolder folder;
  const Bytes binary = stored_by_a_first_process(kept_in(folder), kUsesGroupId);
  InterposerFixture fixture(kept_in(folder));
  fixture.driver.kernel("reads_group_id", note_group_id);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(fixture.loaded(binary), "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().slices, 20U);
  EXPECT_EQ(fixture.read(), group_ids());
}

TEST(KnownBinaryInALaterProcess, IsUnknownWithoutACacheFolder) {
  const Bytes binary = stored_by_a_first_process(default_settings(), kSplittable);
  InterposerFixture fixture;
  ASSERT_EQ(fixture.launch(fixture.make_kernel(fixture.loaded(binary), "add")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::binary), 1U);
}

// What the entry said of the old driver is not believed, but the prelude may be in the binary.
TEST(KnownBinaryInALaterProcess, IsNotBelievedForAnotherDriverVersion) {
  const auto driver = [](const char* version) {
    return kit::with(default_driver(), &sim::Options::offset_bits, 32U, &sim::Options::driver_version,
                     version);
  };
  for (const bool trust : {false, true}) {
    const kit::TemporaryFolder folder;
    const base::Settings settings = kit::with(kept_in(folder), &base::Settings::trust_binaries, trust);
    const Bytes binary = stored_by_a_first_process(settings, kUsesGroupId, driver("1.0"));
    InterposerFixture fixture(settings, driver("1.1"));
    const cl_kernel kernel = fixture.make_kernel(fixture.loaded(binary), "reads_group_id");
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::binary), 1U);
    const kit::Range wide{{16, 1, 1}, {4, 1, 1}, {0, 0, std::size_t{1} << 31U}};
    EXPECT_EQ(fixture.cl.launch(fixture.queue, kernel, wide), CL_INVALID_GLOBAL_OFFSET);
  }
}

TEST(KnownBinaryInALaterProcess, DamagedEntryIsUnknown) {
  const kit::TemporaryFolder folder;
  const Bytes binary = stored_by_a_first_process(kept_in(folder), kSplittable);
  for (const auto& file : std::filesystem::directory_iterator(folder.file("known-binaries")))
    std::filesystem::resize_file(file.path(), file.file_size() - 1);
  InterposerFixture fixture(kept_in(folder));
  ASSERT_EQ(fixture.launch(fixture.make_kernel(fixture.loaded(binary), "add")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::binary), 1U);
}

// Under `cleave run` two Cleaves are in the process. The upper one builds without the prelude, and knows nothing of the
// lower one's builds.
TEST(KnownBinaryUnderTwoCleaves, IsNotedByTheOneThatSplits) {
  const kit::TemporaryFolder folder;
  const base::Settings settings = kit::with(kept_in(folder), &base::Settings::trust_binaries, true);
  int lower = 0;
  {
    InterposerFixture upper(settings);
    upper.driver.extension(CL_CLEAVE_GET_INFO_NAME, &lower);
    const Bytes binary = upper.cl.binary(upper.make_program(kUsesGroupId));
    EXPECT_FALSE(std::filesystem::exists(folder.file("known-binaries")));
    upper.loaded(binary);
    EXPECT_EQ(interpose::interposer().records.programs.size(), 0U) << "nor is there a record of what it made";
  }
  const Bytes binary = stored_by_a_first_process(settings, kUsesGroupId);
  InterposerFixture fixture(settings);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(fixture.loaded(binary), "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
}

cl_int CL_API_CALL server_info(cl_platform_id platform, cl_platform_info what, std::size_t size, void* value,
                               std::size_t* size_ret) {
  if (what != base::kPlatformIsRemote)
    return sim::Driver::table().clGetPlatformInfo(platform, what, size, value, size_ret);
  constexpr cl_bool kRemote = CL_TRUE;
  std::memcpy(value, &kRemote, sizeof kRemote);
  return CL_SUCCESS;
}

void* CL_API_CALL server_function(cl_platform_id platform, const char* name) {
  if (std::string_view(name) == base::kGetDriverPlatformInfo) return reinterpret_cast<void*>(server_info);
  return sim::Driver::table().clGetExtensionFunctionAddressForPlatform(platform, name);
}

// A server's binaries are known to the Cleave there; what is built on the way to it says nothing of them.
TEST(KnownBinaryOfAServer, IsNotNotedHere) {
  for (const bool remote : {false, true}) {
    Table below = sim::Driver::table();
    if (remote) below.clGetExtensionFunctionAddressForPlatform = server_function;
    const kit::TemporaryFolder folder;
    InterposerFixture fixture(kept_in(folder), default_driver(), 0, below);
    EXPECT_FALSE(fixture.cl.binary(fixture.make_program(kSplittable)).empty());
    EXPECT_EQ(std::filesystem::exists(folder.file("known-binaries")), !remote);
  }
}

// Calls during_fetch between the driver's answer and Cleave's.
std::function<void()> during_fetch;
cl_int CL_API_CALL interrupted_info(cl_program program, cl_program_info name, size_t size, void* value,
                                    size_t* size_ret) {
  const cl_int result = sim::Driver::table().clGetProgramInfo(program, name, size, value, size_ret);
  if (name == CL_PROGRAM_BINARIES && value != nullptr && during_fetch) std::exchange(during_fetch, nullptr)();
  return result;
}

TEST(KnownBinaryOfAConcurrentBuild, IsUnknown) {
  Table below = sim::Driver::table();
  below.clGetProgramInfo = interrupted_info;
  InterposerFixture fixture(default_settings(), default_driver(), 0, below);
  const cl_program program = fixture.make_program(kUsesGroupId, "-Dget_group_id=get_local_id");
  during_fetch = [&] { EXPECT_EQ(fixture.cl.build(program), CL_SUCCESS); };
  const Bytes binary = fixture.cl.binary(program);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(fixture.loaded(binary), "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::binary), 1U)
      << "it has no prelude, and the program now has";
}

TEST(KnownBinaryOfSeveralDevices, IsKnownIfAllOfThemAre) {
  InterposerFixture fixture(default_settings(), kit::with(default_driver(), &sim::Options::devices, 2U));
  const kit::Api& cl = fixture.cl;
  const std::array devices{fixture.driver.device(0), fixture.driver.device(1)};
  const auto context = cl.own(cl.clCreateContext(nullptr, 2, devices.data(), nullptr, nullptr, nullptr));
  const auto program = cl.build(context, kSplittable);
  std::array<std::size_t, 2> sizes{};
  ASSERT_EQ(cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes.data(), nullptr),
            CL_SUCCESS);
  Bytes binary(sizes[0]);
  for (const std::size_t wanted : {0U, 1U}) {
    std::array<unsigned char*, 2> places{};
    places[wanted] = binary.data();
    ASSERT_EQ(cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof places, places.data(), nullptr),
              CL_SUCCESS);
    const std::array<const unsigned char*, 2> both{binary.data(), binary.data()};
    const auto loaded = cl.own(cl.clCreateProgramWithBinary(context, 2, devices.data(), sizes.data(),
                                                            const_cast<const unsigned char**>(both.data()),
                                                            nullptr, nullptr));
    ASSERT_EQ(cl.build(loaded, nullptr), CL_SUCCESS);
    const auto buffer = cl.buffer(context, std::vector<cl_int>(4096, 0));
    const auto kernel = cl.kernel(loaded, "add", buffer.get(), cl_int{1});
    const auto queue = cl.queue(context, devices[1]);
    ASSERT_EQ(cl.launch(queue, kernel, {4096, 16}), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, wanted) << "the second device's was not fetched before";
    ASSERT_EQ(cl.clFinish(queue), CL_SUCCESS);
  }
}

TEST_F(KnownBinary, IsFetchedAndLoadedByManyThreads) {
  const cl_program program = make_program(kUsesGroupId);
  kit::on_threads(4, [&](std::size_t thread) {
    for (int i = 0; i < 20; ++i) {
      const auto own = cl.build(context, kUsesGroupId, ("-DTHREAD=" + std::to_string(thread)).c_str());
      for (const cl_program each : {program, own.get()}) {
        const auto again = cl.program(context, device, cl.binary(each));
        EXPECT_EQ(cl.build(again, nullptr), CL_SUCCESS);
        EXPECT_NE(interpose::interposer().records.programs.find(again)->scan, nullptr);
      }
    }
  });
}

}  // namespace
}  // namespace cleave
