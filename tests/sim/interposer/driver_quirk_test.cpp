// Drivers that are known to go wrong are spared what they cannot take (interpose/drivers/quirks.h), and only they.

#include <string>

#include "base/driver_platform.h"
#include "cleave/cleave.h"
#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using plan::UnsplitReason;

constexpr const char* kPoclsVendor = "Portable Computing Language";
constexpr const char* kKeeps = "global int total; kernel void add(global int* data, int n) { total += n; }";

sim::Options driver_called(const char* name, const char* version = "OpenCL 3.0 sim") {
  sim::Options options = default_driver();
  options.device_type = CL_DEVICE_TYPE_CPU;
  options.compute_units = 2;
  options.platform_name = name;
  options.platform_version = version;
  return options;
}

TEST(DriverQuirk, FatalFailuresDisableSplittingBehindAUserEvent) {
  for (const bool pocl : {true, false}) {
    InterposerFixture fixture(default_settings(), driver_called(pocl ? kPoclsVendor : "Another"));
    const cl_kernel kernel = fixture.make_kernel();
    const cl_event gate = fixture.user_event();
    ASSERT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::driver), pocl ? 1U : 0U);
    ASSERT_EQ(fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, pocl ? 1U : 2U);
    fixture.expect_each_item_ran(2);
  }
}

// A face below that changes the platform's name for programs, and says the driver's.
struct RenamingFace {
  static cl_int CL_API_CALL driver_info(cl_platform_id platform, cl_platform_info what, std::size_t size,
                                        void* value, std::size_t* size_ret) {
    if (what != base::kPlatformIsRemote)
      return sim::Driver::table().clGetPlatformInfo(platform, what, size, value, size_ret);
    const cl_bool remote = is_remote ? CL_TRUE : CL_FALSE;
    std::memcpy(value, &remote, sizeof remote);
    return CL_SUCCESS;
  }
  static void* CL_API_CALL find(cl_platform_id platform, const char* name) {
    if (std::string_view(name) == base::kGetDriverPlatformInfo) return reinterpret_cast<void*>(driver_info);
    return sim::Driver::table().clGetExtensionFunctionAddressForPlatform(platform, name);
  }
  static cl_int CL_API_CALL shown_info(cl_platform_id platform, cl_platform_info what, std::size_t size,
                                       void* value, std::size_t* size_ret) {
    constexpr std::string_view kShown("Shown to programs\0", 18);
    if (what != CL_PLATFORM_NAME && what != CL_PLATFORM_VERSION)
      return sim::Driver::table().clGetPlatformInfo(platform, what, size, value, size_ret);
    if (value != nullptr && size < kShown.size()) return CL_INVALID_VALUE;
    if (value != nullptr) std::memcpy(value, kShown.data(), kShown.size());
    if (size_ret != nullptr) *size_ret = kShown.size();
    return CL_SUCCESS;
  }
  static Table table(bool remote = false) {
    is_remote = remote;
    Table below = sim::Driver::table();
    below.clGetPlatformInfo = shown_info;
    below.clGetExtensionFunctionAddressForPlatform = find;
    return below;
  }
  inline static bool is_remote = false;
};

TEST(DriverQuirk, IsKnownBelowAFaceThatChangesTheNames) {
  {
    InterposerFixture fixture(default_settings(), driver_called(kPoclsVendor), 0, RenamingFace::table());
    const cl_event gate = fixture.user_event();
    ASSERT_EQ(fixture.launch(fixture.make_kernel(), nullptr, {gate}), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::driver), 1U) << "by the name";
    ASSERT_EQ(fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  }
  InterposerFixture fixture(default_settings(), driver_called("Another", "OpenCL 3.0 PoCL 5.0  Linux"), 0,
                            RenamingFace::table());
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 0U) << "by the version";
}

TEST(DriverQuirk, FatalSliceFailuresDisableSplittingBehindFallibleCommands) {
  for (const char* name : {"Intel(R) OpenCL", "Oclgrind", "Another"}) {
    const bool fears = std::string_view(name) != "Another";
    InterposerFixture fixture(default_settings(), driver_called(name));
    const cl_kernel kernel = fixture.make_kernel();
    const cl_event gate = fixture.user_event();
    ASSERT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::driver), fears ? 1U : 0U) << name;
    ASSERT_EQ(fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    ASSERT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, fears ? 1U : 2U)
        << "what has ended well cannot fail: " << name;
    const cl_event failed = fixture.user_event();
    ASSERT_EQ(fixture.cl.clSetUserEventStatus(failed, -5), CL_SUCCESS);
    const auto before = InterposerFixture::statistics().split;
    fixture.launch(kernel, nullptr, {failed});
    EXPECT_EQ(InterposerFixture::statistics().split, before + (fears ? 0U : 1U)) << name;
    ASSERT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, before + (fears ? 0U : 2U))
        << "events may lie from now on: " << name;
    fixture.expect_each_item_ran(3);
  }
}

TEST(DriverQuirk, OffsetClashDisablesSplitting) {
  for (const bool clash : {true, false}) {
    const char* version = clash ? "OpenCL 3.0 PoCL 5.0  Linux" : "OpenCL 3.0 PoCL 6.0  Linux";
    InterposerFixture fixture(default_settings(), driver_called(kPoclsVendor, version));
    ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, clash ? 0U : 1U);
  }
}

sim::Options pocl_of_threads(cl_uint threads, const char* version = "OpenCL 3.0 PoCL 3.1+debian  Linux") {
  sim::Options options = driver_called(kPoclsVendor, version);
  options.compute_units = threads;
  return options;
}

TEST(DriverQuirk, OffsetRaceDisablesConcurrentSplitting) {
  base::Settings pipelined = default_settings();
  pipelined.launch = base::LaunchMode::pipelined;
  for (const cl_uint threads : {1U, 2U}) {
    InterposerFixture fixture(pipelined, pocl_of_threads(threads));
    const cl_kernel kernel = fixture.make_kernel();
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().pipelined, threads == 1 ? 1U : 0U);
    EXPECT_EQ(InterposerFixture::statistics().split, 1U) << "alone on its queue";
    fixture.make_queue();
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, 2U) << "two in flight are one too few";
    const cl_command_queue third = fixture.make_queue();
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    ASSERT_EQ(fixture.launch_on(third, kernel), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, threads == 1 ? 4U : 2U);
    EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::driver), threads == 1 ? 0U : 2U);
    fixture.cl.clFinish(third);
    fixture.expect_each_item_ran(4);
  }
}

TEST(DriverQuirk, OffsetRaceDisablesOutOfOrderSplitting) {
  for (const char* version :
       {"OpenCL 3.0 PoCL 3.1+debian  Linux", "OpenCL 3.0 PoCL 6.0  Linux", "OpenCL 3.0"}) {
    const bool races = std::string_view(version).find("PoCL 3") != std::string_view::npos;
    InterposerFixture fixture(default_settings(), pocl_of_threads(16, version),
                              CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, races ? 0U : 1U) << version;
  }
}

TEST(DriverQuirk, CopiedVariablesDisableSplittingOfProgramsWithVariables) {
  for (const bool pocl : {true, false}) {
    InterposerFixture fixture(default_settings(), driver_called(pocl ? kPoclsVendor : "Another"));
    const cl_program program = fixture.make_program(kKeeps, "-cl-std=CL2.0");
    ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "add")), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::driver), pocl ? 1U : 0U);
    ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().split, pocl ? 1U : 2U);
  }
}

TEST(DriverQuirk, StickyBuildFailureDisablesThePrelude) {
  for (const bool intel : {true, false}) {
    InterposerFixture fixture(default_settings(), driver_called(intel ? "Intel(R) OpenCL" : "Another"));
    ASSERT_EQ(fixture.launch(fixture.make_kernel(kUsesGroupId, "reads_group_id")), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::driver), intel ? 1U : 0U);
    EXPECT_EQ(InterposerFixture::statistics().split, intel ? 0U : 1U);
  }
}

std::string options_of(const Table& cl, const InterposerFixture& fixture, cl_program program) {
  std::string options(256, '\0');
  cl.clGetProgramBuildInfo(program, fixture.driver.device(), CL_PROGRAM_BUILD_OPTIONS, options.size(),
                           options.data(), nullptr);
  return options.c_str();
}

TEST(DriverQuirk, DisabledSplittingDisablesThePrelude) {
  for (const bool clash : {true, false}) {
    const char* version = clash ? "OpenCL 3.0 PoCL 5.0  Linux" : "OpenCL 3.0 PoCL 6.0  Linux";
    InterposerFixture fixture(default_settings(), driver_called(kPoclsVendor, version));
    const cl_program program = fixture.make_program(kUsesGroupId);
    EXPECT_EQ(options_of(sim::Driver::table(), fixture, program), clash ? "" : "-D__cleave_on");
  }
}

TEST(DriverQuirk, PreludeKeepsArgumentNamesWithoutOptions) {
  for (const bool pocl : {true, false}) {
    InterposerFixture fixture(default_settings(), driver_called(pocl ? kPoclsVendor : "Another"));
    const auto options = [&](const char* given) {
      const cl_program program = fixture.make_program(kUsesGroupId, given);
      EXPECT_EQ(options_of(fixture.cl, fixture, program), given != nullptr ? given : "");
      return options_of(sim::Driver::table(), fixture, program);
    };
    EXPECT_EQ(options(nullptr), pocl ? "-D__cleave_on -cl-kernel-arg-info" : "-D__cleave_on");
    EXPECT_EQ(options(""), "-D__cleave_on");
    EXPECT_EQ(options("-DN=4"), "-DN=4 -D__cleave_on");
  }
}

TEST(DriverQuirk, HarmfulSuggestedLocalSizeIsNotQueried) {
  for (const bool intel : {true, false}) {
    sim::Options options = driver_called(intel ? "Intel(R) OpenCL" : "Another");
    options.suggested_local_size = true;
    InterposerFixture fixture(default_settings(), options);
    const cl_kernel kernel = fixture.make_kernel();
    ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {InterposerFixture::kItems}), CL_SUCCESS);
    EXPECT_EQ(fixture.driver.count("clGetKernelSuggestedLocalWorkSizeKHR"), intel ? 0U : 1U);
    EXPECT_EQ(InterposerFixture::statistics().split, 1U);
    fixture.expect_each_item_ran(1);
  }
}

// A kernel that would notice another size.
TEST(DriverQuirk, DriversLocalSizeIsUsedWhereItsRuleIsKnown) {
  struct Driver {
    const char* name;
    const char* version;
    std::size_t local;  // for 4096 work-items; 0: unknown
  };
  for (const Driver& known : {Driver{"Oclgrind", "OpenCL 1.2 (Oclgrind 21.10)", 1},
                              Driver{kPoclsVendor, "OpenCL 3.0 PoCL 3.1  Linux", 1024},
                              Driver{kPoclsVendor, "OpenCL 3.0 PoCL 6.0  Linux", 0},
                              Driver{"Another", "OpenCL 3.0 PoCL 3.1  Linux", 0}}) {
    SCOPED_TRACE(known.version);
    sim::Options options = driver_called(known.name, known.version);
    options.suggested_local_size = false;
    InterposerFixture fixture(default_settings(), options);
    const cl_kernel kernel = fixture.make_kernel(kUsesGroupId, "reads_group_id");
    fixture.driver.forget();
    ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {InterposerFixture::kItems}), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::local_size), known.local == 0 ? 1U : 0U);
    for (const auto& slice : fixture.driver.launches()) {
      EXPECT_EQ(slice.null_local, known.local == 0);
      if (known.local != 0) {
        EXPECT_EQ(slice.local[0], known.local);
      }
    }
  }
}

// It splits there, and could not see through a prelude of ours.
TEST(DriverQuirk, RemoteServerGetsUnmodifiedPrograms) {
  for (const bool servers : {true, false}) {
    InterposerFixture fixture(default_settings(), driver_called("Another"), 0, RenamingFace::table(servers));
    const cl_program program = fixture.make_program(kUsesGroupId);
    std::string text(std::size_t{1} << 20U, '\0');
    EXPECT_EQ(
        sim::Driver::table().clGetProgramInfo(program, CL_PROGRAM_SOURCE, text.size(), text.data(), nullptr),
        CL_SUCCESS);
    EXPECT_EQ(std::string(text.c_str()) == kUsesGroupId, servers);
    const cl_kernel kernel = fixture.make_kernel(program, "reads_group_id");
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::remote), servers ? 1U : 0U);
    const auto record = interpose::interposer().records.programs.find(program);
    EXPECT_EQ(record && record->scan == nullptr && record->source == nullptr, servers)
        << "its text is neither scanned nor kept, as the server does both";
  }
}

TEST(DriverQuirk, RemoteServerGetsProgramsThatAreLinked) {
  InterposerFixture fixture(default_settings(), driver_called("Another"), 0, RenamingFace::table(true));
  const char* text = kUsesGroupId;
  const cl_program part = fixture.cl.clCreateProgramWithSource(fixture.context, 1, &text, nullptr, nullptr);
  ASSERT_EQ(fixture.cl.clCompileProgram(part, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr),
            CL_SUCCESS);
  const cl_program program =
      fixture.cl.clLinkProgram(fixture.context, 0, nullptr, "", 1, &part, nullptr, nullptr, nullptr);
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "reads_group_id")), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::remote), 1U);
  EXPECT_EQ(fixture.cl.clReleaseProgram(program), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.clReleaseProgram(part), CL_SUCCESS);
}

// Under `cleave run` two Cleaves are in a process, and each would take as long to scan a large program as its driver to build it.
TEST(DriverQuirk, OnlyTheCleaveThatSplitsScansPrograms) {
  for (const bool is_below : {true, false}) {
    InterposerFixture fixture(default_settings(), driver_called("Another"));
    int lower = 0;
    if (is_below) fixture.driver.extension(CL_CLEAVE_GET_INFO_NAME, &lower);
    const cl_program program = fixture.make_program(kUsesGroupId);
    const auto record = interpose::interposer().records.programs.find(program);
    EXPECT_EQ(record && record->scan != nullptr, !is_below);
    ASSERT_EQ(fixture.launch(fixture.make_kernel(program, "reads_group_id")), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().launches, is_below ? 0U : 1U);
  }
}

}  // namespace
}  // namespace cleave
