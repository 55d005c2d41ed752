// What is said of launches that were not split: the exact reason, its cause, and what the user can do about it.

#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <string_view>

#include <gmock/gmock.h>

#include "base/driver_platform.h"
#include "interpose/explain/unsplit_texts.h"
#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using plan::UnsplitReason;
using testing::HasSubstr;
using Settings = base::Settings;
using Policy = base::SplitPolicy;

constexpr const char* kPocl = "Portable Computing Language";
constexpr const char* kAssembly = "kernel void add(global int* data, int n) { asm(\"\"); }";
constexpr const char* kAtomicAdd =
    "kernel void add(global int* data, int n) { while (atomic_add(data, n) == 0) {} }";
constexpr const char* kKeeps = "global int total; kernel void add(global int* data, int n) { total += n; }";

Settings explained(Settings settings = default_settings()) {
  return kit::with(std::move(settings), &Settings::explain, true);
}

Settings without_min_items() {
  Settings settings = default_settings();
  settings.min_items.reset();
  return settings;
}

sim::Options processor(const char* platform, const char* version = "OpenCL 3.0 sim") {
  return kit::with(default_driver(), &sim::Options::device_type, CL_DEVICE_TYPE_CPU,
                   &sim::Options::platform_name, platform, &sim::Options::platform_version, version);
}

struct Case {
  const char* name;
  UnsplitReason reason;
  const char* cause;   // a part of it
  const char* advice;  // a part of it
  Settings settings;
  sim::Options options;
  std::function<cl_int(InterposerFixture&)> launch;
};

void PrintTo(const Case& given, std::ostream* out) { *out << given.name; }

cl_int launch_add(InterposerFixture& fixture) { return fixture.launch(fixture.make_kernel()); }

cl_int launch_range(InterposerFixture& fixture, const kit::Range& range, const char* source = kSplittable,
                    const char* kernel = "add") {
  fixture.driver.kernel(kernel, [](sim::Execution&) {});
  return fixture.cl.launch(fixture.queue, fixture.make_kernel(source, kernel), range);
}

cl_int launch_reader(InterposerFixture& fixture) {
  return fixture.launch(fixture.make_kernel(kUsesGroupId, "reads_group_id"));
}

// From a binary that was built without Cleave.
cl_int launch_foreign_binary(InterposerFixture& fixture) {
  const kit::Api below(sim::Driver::table(), kit::fail_test);
  const auto binary = below.binary(below.build(fixture.context, kSplittable));
  const cl_program loaded = fixture.keep(fixture.cl.program(fixture.context, fixture.device, binary));
  EXPECT_EQ(fixture.cl.build(loaded, nullptr), CL_SUCCESS);
  return fixture.launch(fixture.make_kernel(loaded, "add"));
}

cl_int launch_behind_user_event(InterposerFixture& fixture) {
  const cl_event gate = fixture.user_event();
  const cl_int error = fixture.launch(fixture.make_kernel(), nullptr, {gate});
  EXPECT_EQ(fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  return error;
}

cl_int launch_beside_three_queues(InterposerFixture& fixture) {
  for (int i = 0; i < 2; ++i) fixture.make_queue();
  return launch_add(fixture);
}

cl_int launch_with_first_slice_refused(InterposerFixture& fixture) {
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.fail("clEnqueueNDRangeKernel", 1, CL_OUT_OF_RESOURCES);
  return fixture.launch(kernel);
}

// On a queue of which the driver says nothing.
cl_int launch_on_unknown_queue(InterposerFixture& fixture) {
  for (const unsigned nth : {1U, 2U}) fixture.driver.fail("clGetCommandQueueInfo", nth, CL_OUT_OF_RESOURCES);
  return fixture.launch_on(fixture.make_queue(), fixture.make_kernel());
}

// On the second of two devices, where the program does not build with the prelude.
cl_int launch_on_plain_device(InterposerFixture& fixture) {
  const std::array<cl_device_id, 2> devices{fixture.driver.device(0), fixture.driver.device(1)};
  const kit::Context context = fixture.cl.context(devices);
  const kit::Queue queue = fixture.cl.queue(context, devices[1]);
  const kit::Program program = fixture.cl.program(context, kUsesGroupId);
  EXPECT_EQ(fixture.cl.clBuildProgram(program, 1, &devices[0], "", nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.clBuildProgram(program, 1, &devices[1], "-DOTHER", nullptr, nullptr), CL_SUCCESS);
  fixture.driver.kernel("reads_group_id", [](sim::Execution&) {});
  const kit::Buffer buffer = fixture.cl.buffer(context, std::vector<cl_int>(InterposerFixture::kItems, 0));
  const kit::Kernel kernel = fixture.cl.kernel(program, "reads_group_id", buffer.get(), cl_int{1});
  const cl_int error = fixture.launch_on(queue, kernel);
  fixture.cl.clFinish(queue);
  return error;
}

cl_int CL_API_CALL record_nothing(void*, cl_command_queue, const void*, cl_kernel, cl_uint, const size_t*,
                                  const size_t*, const size_t*, cl_uint, const cl_uint*, cl_uint*, void*) {
  return CL_SUCCESS;
}

cl_int record_launch(InterposerFixture& fixture) {
  constexpr const char* kName = "clCommandNDRangeKernelKHR";
  fixture.driver.extension(kName, reinterpret_cast<void*>(record_nothing));
  const auto command = reinterpret_cast<decltype(&record_nothing)>(
      fixture.cl.clGetExtensionFunctionAddressForPlatform(fixture.driver.platform(), kName));
  const std::size_t global = 4096;
  return command(nullptr, nullptr, nullptr, fixture.make_kernel(), 1, nullptr, &global, nullptr, 0, nullptr,
                 nullptr, nullptr);
}

std::vector<Case> cases() {
  const Settings usual = explained();
  const Settings by_device = explained(without_min_items());
  const sim::Options gpu = default_driver();
  const auto fixed = [&](std::size_t slices) {
    return kit::with(usual, &Settings::policy, {Policy::Kind::fixed, slices}, &Settings::min_items, 0U);
  };
  return {
      {"Off", UnsplitReason::policy, "CLEAVE_SPLIT=off", "CLEAVE_SPLIT=alpha",
       kit::with(usual, &Settings::policy, {Policy::Kind::off, 0}), gpu, launch_add},
      {"OneSlice", UnsplitReason::policy, "fixed:1", "two slices or more", fixed(1), gpu, launch_add},
      {"Denied", UnsplitReason::denied, "as \"ad*\"", "remove \"ad*\" from CLEAVE_DENY",
       kit::with(usual, &Settings::deny, {"mm", "ad*"}), gpu, launch_add},
      {"Alone", UnsplitReason::alone, "CLEAVE_VMS=1", "set CLEAVE_VMS", kit::with(usual, &Settings::vms, 1),
       gpu, launch_add},
      {"OneGroup", UnsplitReason::one_group, "one work-group", "smaller local size", usual, gpu,
       [](auto& fixture) {
         return launch_range(fixture, {1024, 1024});
       }},
      {"FewerItemsThanCores", UnsplitReason::small, "fewer work-items than the device has cores",
       "CLEAVE_MIN_ITEMS=0", by_device, gpu,
       [](auto& fixture) {
         return launch_range(fixture, {127, 1});
       }},
      {"FewerItemsThanSet", UnsplitReason::small, "CLEAVE_MIN_ITEMS=128", "CLEAVE_MIN_ITEMS=0", usual, gpu,
       [](auto& fixture) {
         return launch_range(fixture, {127, 1});
       }},
      {"ForeignBinary", UnsplitReason::binary, "a binary of unknown origin", "CLEAVE_ALLOW=binary:*", usual,
       gpu, launch_foreign_binary},
      {"Assembly", UnsplitReason::kernel, "cannot hide", "do without `asm`", usual, gpu,
       [](auto& fixture) { return fixture.launch(fixture.make_kernel(kAssembly)); }},
      {"SmallerGroupAlone", UnsplitReason::shape, "a slice of their own", "multiple of the local size",
       fixed(6), gpu,
       [](auto& fixture) {
         return launch_range(fixture, {103, 10});
       }},
      {"Recorded", UnsplitReason::recorded, "command buffer", "clEnqueueNDRangeKernel", usual, gpu,
       record_launch},
      {"Resident", UnsplitReason::resident, "all at once", "CLEAVE_MIN_ITEMS=0", by_device, gpu, launch_add},
      {"FirstSliceRefused", UnsplitReason::driver, "refused the first slice", "another version of the driver",
       usual, gpu, launch_with_first_slice_refused},
      {"GroupsThatMayWait", UnsplitReason::waiting_groups, "wait for each other", "more work-groups", usual,
       gpu, [](auto& fixture) { return fixture.launch(fixture.make_kernel(kMayWait, "may_wait")); }},
      {"NoPreludeForTheDevice", UnsplitReason::untagged_build, "without the prelude for this device",
       "all its devices in one call", usual,
       kit::with(gpu, &sim::Options::devices, 2, &sim::Options::fail_build, "-DOTHER -D__cleave_on"),
       launch_on_plain_device},
      {"NoLocalSize", UnsplitReason::local_size, "names no local size", "pass the local size", usual, gpu,
       [](auto& fixture) { return launch_range(fixture, {4096}, kUsesGroupId, "reads_group_id"); }},
      {"LargeIds", UnsplitReason::large_ids, "2^31", "fewer work-items", usual, gpu,
       [](auto& fixture) {
         return launch_range(fixture, {4096, 16, std::size_t{1} << 31U});
       }},
      {"SmallerGroups", UnsplitReason::smaller_groups, "had not accepted", "later launches", usual, gpu,
       [](auto& fixture) {
         return launch_range(fixture, {4090, 16});
       }},
      {"NoRoomForTag", UnsplitReason::no_room_for_tag, "leave no room", "third dimension", usual, gpu,
       [](auto& fixture) {
         return launch_range(fixture, {{1, 1, 8196}, {1, 1, 4}}, kUsesGroupId, "reads_group_id");
       }},
      {"UnknownQueue", UnsplitReason::queue_properties, "does not tell them", "OpenCL's own properties",
       usual, gpu, launch_on_unknown_queue},
      {"TagsLost", UnsplitReason::no_tags, "its probe failed", "another driver", usual, gpu,
       [](auto& fixture) {
         fixture.driver.kernel("cleave_probe", [](sim::Execution&) {});
         return launch_reader(fixture);
       }},
      {"FailedBuildsAreFinal", UnsplitReason::no_tags, "failed_builds_are_final", "another driver", usual,
       processor("Intel(R) OpenCL"), launch_reader},
      {"MixedOffsets", UnsplitReason::mixed_offsets, "quirk crashes_on_mixed_offsets", "PoCL 3 or 6", usual,
       processor(kPocl, "OpenCL 3.0 PoCL 5.0  Linux"), launch_add},
      {"MoreThanTwoQueues", UnsplitReason::racing_offsets, "quirk crashes_on_several_mixed_offsets",
       "at most two queues", usual, processor(kPocl, "OpenCL 3.0 PoCL 3.1+debian  Linux"),
       launch_beside_three_queues},
      {"PendingUserEvent", UnsplitReason::late_failure, "quirk crashes_on_late_failure", "before the launch",
       usual, processor(kPocl), launch_behind_user_event},
      {"WaitListMayFail", UnsplitReason::shared_failure, "quirk crashes_on_shared_failure",
       "wait for the events before the launch", usual, processor("Oclgrind"), launch_behind_user_event},
      {"ProgramVariables", UnsplitReason::variable_copies, "quirk copies_variables", "in a buffer", usual,
       processor(kPocl),
       [](auto& fixture) {
         return fixture.launch(fixture.make_kernel(fixture.make_program(kKeeps, "-cl-std=CL2.0"), "add"));
       }},
  };
}

class UnsplitLaunchIsExplained : public testing::TestWithParam<Case> {};

observe::Explanation only_explanation() {
  const interpose::Interposer& p = interpose::interposer();
  const auto all = p.explanations(p.counters.all());
  EXPECT_EQ(all.size(), 1U);
  if (all.size() != 1 || all.begin()->second.size() != 1) return {};
  return all.begin()->second.front();
}

TEST_P(UnsplitLaunchIsExplained, ByReasonCauseAndAdvice) {
  const Case& given = GetParam();
  InterposerFixture fixture(given.settings, given.options);
  ASSERT_EQ(given.launch(fixture), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().split, 0U);
  EXPECT_EQ(InterposerFixture::statistics().unsplit[static_cast<std::size_t>(given.reason)], 1U);
  const observe::Explanation said = only_explanation();
  EXPECT_EQ(said.reason, plan::name(given.reason));
  EXPECT_EQ(said.launches, 1U);
  EXPECT_THAT(said.cause, HasSubstr(given.cause));
  EXPECT_THAT(said.advice, HasSubstr(given.advice));
}

INSTANTIATE_TEST_SUITE_P(Reasons, UnsplitLaunchIsExplained, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Explanation, EveryReasonHasItsOwnCauseAndAnAdvice) {
  std::set<std::string> causes;
  for (std::size_t i = 0; i < plan::kUnsplitReasons; ++i) {
    const auto words = interpose::describe(static_cast<UnsplitReason>(i), "add", {});
    EXPECT_TRUE(causes.insert(words.cause).second) << i;
    EXPECT_FALSE(words.advice.empty()) << i;
    for (const std::string& text : {words.cause, words.advice}) {
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      EXPECT_FALSE(text.ends_with('.')) << text;
    }
  }
}

struct FoundCase {
  const char* name;
  const char* source;
  const char* kernel;
  sim::Options options;
  const char* build;  // its options
  std::vector<std::string> texts;
  const char* advice;  // a part of it
};

void PrintTo(const FoundCase& given, std::ostream* out) { *out << given.name; }

std::vector<FoundCase> found_cases() {
  const sim::Options gpu = default_driver();
  return {
      {"Assembly", kAssembly, "add", gpu, "", {"`asm` is used in line 1"}, "do without `asm`"},
      {"MissingFile",
       "\n#include <metal_stdlib>\nkernel void add(global int* data, int n) { data[get_global_id(0)] += n; }",
       "add",
       gpu,
       "",
       {"`metal_stdlib` is included in line 2 and was not found"},
       "let the build find `metal_stdlib`"},
      {"DefinedBuiltin",
       "#define get_group_id(d) 0\n"
       "kernel void reads_group_id(global int* data, int n) { data[get_group_id(0)] += n; }",
       "reads_group_id",
       gpu,
       "",
       {"`get_group_id` is used in line 1",
        "`get_group_id` is declared, redefined, tested or passed on in line 1"},
       "do not declare, define or test"},
      {"PreludeThatDoesNotBuild",
       kUsesGroupId,
       "reads_group_id",
       kit::with(gpu, &sim::Options::fail_build, "-DOTHER -D__cleave_on"),
       "-DOTHER",
       {"`get_group_id` is used in line 1", "its program does not build with the prelude, or would show it"},
       "nothing, unless"},
      {"ReservedNames",
       "kernel void reads_group_id(global int* data, int n) { int __cleave_x = 0; data[get_group_id(0)] += "
       "n; }",
       "reads_group_id",
       gpu,
       "",
       {"`get_group_id` is used in line 1",
        "its program begins with a byte order mark, or uses names that begin with __cleave_"},
       "remove them"},
      {"Atomics", kAtomicAdd, "add", gpu, "", {"`atomic_add` is used in line 1"}, "nothing, if they do"},
      {"DriverWithoutTags",
       kUsesGroupId,
       "reads_group_id",
       processor("Intel(R) OpenCL"),
       "",
       {"`get_group_id` is used in line 1"},
       "another driver"},
  };
}

class UnsplitKernelIsExplained : public testing::TestWithParam<FoundCase> {};

TEST_P(UnsplitKernelIsExplained, ByWhatItsSourceHas) {
  const FoundCase& given = GetParam();
  InterposerFixture fixture(explained(), given.options);
  ASSERT_EQ(
      fixture.launch(fixture.make_kernel(fixture.make_program(given.source, given.build), given.kernel)),
      CL_SUCCESS);
  const observe::Explanation said = only_explanation();
  std::vector<std::string> texts;
  for (const observe::Finding& finding : said.findings) texts.push_back(finding.text);
  EXPECT_EQ(texts, given.texts);
  EXPECT_THAT(said.advice, HasSubstr(given.advice));
}

INSTANTIATE_TEST_SUITE_P(Sources, UnsplitKernelIsExplained, testing::ValuesIn(found_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Explanation, OfAProgramIsKeptOnlyIfItWillBeWritten) {
  for (const bool written : {true, false}) {
    Settings settings = default_settings();
    if (written) settings.stats = "/dev/null";
    InterposerFixture fixture(settings);
    ASSERT_EQ(fixture.launch(fixture.make_kernel(kAssembly)), CL_SUCCESS);
    EXPECT_EQ(only_explanation().findings.size(), written ? 1U : 0U);
  }
}

TEST(Explanation, OfAProgramOutlivesIt) {
  InterposerFixture fixture(explained());
  for (int i = 0; i < 3; ++i) {
    kit::Program program = fixture.cl.build(fixture.context, kAssembly);
    const kit::Kernel kernel = fixture.cl.kernel(program, "add", fixture.buffer, cl_int{1});
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  }
  const observe::Explanation said = only_explanation();
  EXPECT_EQ(said.launches, 3U);
  EXPECT_EQ(said.findings.size(), 1U) << "the same each time";
}

// Those that take several launches or threads are counted in the tests of the policies and of shared queues.
TEST(Explanation, NamesTheSettingOfAPolicy) {
  const auto advice = [](UnsplitReason why) { return interpose::describe(why, "add", {}).advice; };
  EXPECT_THAT(advice(UnsplitReason::measuring), HasSubstr("after a few launches"));
  EXPECT_THAT(advice(UnsplitReason::costly), HasSubstr("budget:SHARE"));
  EXPECT_THAT(advice(UnsplitReason::below_quantum), HasSubstr("CLEAVE_SPLIT=quantum"));
  EXPECT_THAT(advice(UnsplitReason::shared), HasSubstr("a queue of its own"));
}

TEST(Explanation, QuotesAMistakeInTheConfiguration) {
  base::Configuration configuration;
  configuration.problems = {"CLEAVE_ALPHA=\"x\": expected a whole number"};
  const auto words = interpose::describe(UnsplitReason::policy, "add", configuration);
  EXPECT_THAT(words.cause, HasSubstr("CLEAVE_ALPHA=\"x\": expected a whole number"));
  EXPECT_THAT(words.advice, HasSubstr("correct"));
}

// A table below whose devices are a server's.
Table servers_table() {
  Table below = sim::Driver::table();
  below.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id platform, const char* name) -> void* {
    if (std::string_view(name) != base::kGetDriverPlatformInfo)
      return sim::Driver::table().clGetExtensionFunctionAddressForPlatform(platform, name);
    using Query = cl_int(CL_API_CALL*)(cl_platform_id, cl_platform_info, std::size_t, void*, std::size_t*);
    const Query query = [](cl_platform_id asked, cl_platform_info what, std::size_t size, void* value,
                           std::size_t* size_ret) {
      if (what != base::kPlatformIsRemote)
        return sim::Driver::table().clGetPlatformInfo(asked, what, size, value, size_ret);
      constexpr cl_bool kRemote = CL_TRUE;
      std::memcpy(value, &kRemote, sizeof kRemote);
      return CL_SUCCESS;
    };
    return reinterpret_cast<void*>(query);
  };
  return below;
}

TEST(Explanation, PointsToTheServerThatSplits) {
  InterposerFixture fixture(explained(), default_driver(), 0, servers_table());
  ASSERT_EQ(launch_add(fixture), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::unsplit(UnsplitReason::remote), 1U);
  const observe::Explanation said = only_explanation();
  EXPECT_THAT(said.cause, HasSubstr("a server's"));
  EXPECT_THAT(said.advice, HasSubstr("cleave-serverd"));
}

TEST(Explanation, OfAKnownBinaryNamesTheConstructInItsSource) {
  InterposerFixture fixture(explained());
  const cl_program loaded = fixture.reloaded(fixture.make_program(kAssembly));
  ASSERT_EQ(fixture.launch(fixture.make_kernel(loaded, "add")), CL_SUCCESS);
  const observe::Explanation said = only_explanation();
  EXPECT_EQ(said.reason, "kernel");
  ASSERT_EQ(said.findings.size(), 1U);
  EXPECT_THAT(said.findings[0].text, HasSubstr("is used in line 1 (of the source of its binary)"));
  EXPECT_EQ(said.findings[0].construct, "asm");
  EXPECT_EQ(said.findings[0].line, 1U);
}

TEST(Explanation, SplitLaunchesHaveNone) {
  InterposerFixture fixture(explained());
  ASSERT_EQ(launch_add(fixture), CL_SUCCESS);
  const interpose::Interposer& p = interpose::interposer();
  EXPECT_TRUE(p.explanations(p.counters.all()).empty());
}

}  // namespace
}  // namespace cleave
