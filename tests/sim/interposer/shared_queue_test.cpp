// Threads that share an in-order queue: nothing of one gets between the slices of another.

#include <algorithm>
#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

#include "opencl/extension_functions.h"
#include "opencl/function_traits.h"
#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using SharedQueue = InterposerTest<>;

TEST_F(SharedQueue, EveryEnqueueFunctionPassesTheGate) {
  std::size_t seen = 0;
#define CL_FUNCTION(version, name, ...)                                                      \
  if (std::string_view(#name).starts_with("clEnqueue")) {                                    \
    ++seen;                                                                                  \
    EXPECT_NE(cl.name, sim::Driver::table().name) << #name << " may get between two slices"; \
  }
#include "opencl/functions.def"
#undef CL_FUNCTION
  EXPECT_GT(seen, 30U);
}

// One thread launches kernels that write the launch's number to every element; another reads the whole buffer
// on the same queue all the while. Whatever it reads must be of one launch.
TEST(ConfiguredSharedQueue, ReadersNeverSeeAPartialLaunch) {
  for (const auto mode : {base::LaunchMode::queued, base::LaunchMode::sequential}) {
    InterposerFixture fixture(kit::with(default_settings(), &base::Settings::launch, mode));
    fixture.driver.kernel("add", [](sim::Execution& e) {
      const auto data = e.buffer<cl_int>(0);
      e.for_each_item([&](const sim::Item& item) { data[item.global_id[0]] = e.value<cl_int>(1); });
    });
    const cl_kernel kernel = fixture.make_kernel();
    std::atomic<bool> done{false};
    std::jthread writer([&] {
      for (cl_int n = 1; n <= 100; ++n) {
        EXPECT_EQ(fixture.cl.set_argument(kernel, 1, n), CL_SUCCESS);
        EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
      }
      done = true;
    });
    std::size_t reads = 0;
    std::size_t torn = 0;
    for (; !done || reads == 0; ++reads) {
      const auto content = fixture.read();
      if (std::adjacent_find(content.begin(), content.end(), std::not_equal_to<>()) != content.end()) ++torn;
    }
    writer.join();
    EXPECT_EQ(torn, 0U) << "of " << reads;
    EXPECT_EQ(fixture.read(), std::vector<cl_int>(InterposerFixture::kItems, 100));
    EXPECT_EQ(InterposerFixture::statistics().launches, 100U);
  }
}

TEST_F(SharedQueue, ConcurrentLaunchesDoNotInterleave) {
  const cl_program program = make_program(kSplittable);
  const std::vector<cl_kernel> kernels = {make_kernel(program, "add"), make_kernel(program, "sum")};
  kit::on_threads(kernels.size(), [&](std::size_t thread) {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(launch(kernels[thread]), CL_SUCCESS);
  });
  std::size_t end = kItems;  // where the slice before ended
  std::string kernel;
  for (const auto& slice : driver.launches()) {
    if (end == kItems) {
      EXPECT_EQ(slice.offset[0], 0U);
    } else {
      EXPECT_EQ(slice.offset[0], end);
      EXPECT_EQ(slice.kernel, kernel);
    }
    kernel = slice.kernel;
    end = slice.offset[0] + slice.global[0];
  }
  expect_each_item_ran(100);
}

// A thread that paces its launch delays no other for long: it stops pacing as soon as another thread wants the
// queue.
TEST(ConfiguredSharedQueue, WaitingThreadAbortsPacing) {
  InterposerFixture fixture(
      kit::with(default_settings(), &base::Settings::launch, base::LaunchMode::sequential));
  const cl_kernel kernel = fixture.make_kernel();
  DriverOnlyEvent gate(fixture);
  std::jthread launcher([&] { EXPECT_EQ(fixture.launch(kernel, nullptr, {gate.get()}), CL_SUCCESS); });
  while (fixture.driver.launches().empty()) std::this_thread::yield();
  const kit::Event marker = fixture.cl.marker_event(fixture.queue);
  launcher.join();
  EXPECT_EQ(fixture.driver.launches().size(), 20U);
  gate.open();
  fixture.expect_each_item_ran(1);
}

// The drivers' functions of extensions that enqueue something: they only note what was enqueued before them.
const sim::Driver* noting_driver = nullptr;
std::size_t slices_before = 0;

template <auto Entry, typename Function = opencl::FunctionAt<Entry>>
struct Noting;

template <auto Entry, typename... Parameters>
struct Noting<Entry, cl_int(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  static constexpr std::string_view kName = opencl::kNameOf<Entry>;

  static cl_int CL_API_CALL call(cl_command_queue, Parameters...) {
    slices_before = noting_driver->launches().size();
    return CL_SUCCESS;
  }

  static void add_to(InterposerFixture& fixture) {
    noting_driver = &fixture.driver;
    fixture.driver.extension(kName, reinterpret_cast<void*>(call));
  }

  // As a program calls it, with zeros for all other arguments.
  static cl_int enqueue(const InterposerFixture& fixture, cl_command_queue queue) {
    void* const found = fixture.cl.clGetExtensionFunctionAddress(kName.data());
    EXPECT_NE(found, nullptr);
    EXPECT_NE(found, reinterpret_cast<void*>(call)) << "the program has the driver's own";
    return reinterpret_cast<opencl::FunctionAt<Entry>>(found)(queue, Parameters{}...);
  }
};

struct ExtensionCommand {
  std::string name;
  void (*add_to)(InterposerFixture&);
  cl_int (*enqueue)(const InterposerFixture&, cl_command_queue);
};

template <auto Entry>
void add_command(std::vector<ExtensionCommand>& commands) {
  if constexpr (opencl::kNameOf<Entry>.starts_with("clEnqueue")) {
    using Function = Noting<Entry>;
    commands.push_back({std::string(Function::kName), Function::add_to, Function::enqueue});
  }
}

std::vector<ExtensionCommand> extension_commands() {
  std::vector<ExtensionCommand> commands;
#define CL_EXTENSION(extension, name, ...) add_command<&opencl::ExtensionFunctions::name>(commands);
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
  return commands;
}

void PrintTo(const ExtensionCommand& command, std::ostream* out) { *out << command.name; }

class ExtensionCommands : public testing::TestWithParam<ExtensionCommand> {};

TEST_P(ExtensionCommands, DoNotGetBetweenSlices) {
  InterposerFixture fixture(
      kit::with(default_settings(), &base::Settings::launch, base::LaunchMode::sequential));
  GetParam().add_to(fixture);
  const cl_kernel kernel = fixture.make_kernel();
  DriverOnlyEvent gate(fixture);
  std::jthread launcher([&] { EXPECT_EQ(fixture.launch(kernel, nullptr, {gate.get()}), CL_SUCCESS); });
  while (fixture.driver.launches().empty()) std::this_thread::yield();
  EXPECT_EQ(GetParam().enqueue(fixture, fixture.queue), CL_SUCCESS);
  EXPECT_EQ(slices_before, 20U);
  launcher.join();
  gate.open();
  fixture.expect_each_item_ran(1);
}

TEST_P(ExtensionCommands, AreRefusedOnWhatIsNoQueue) {
  InterposerFixture fixture;
  GetParam().add_to(fixture);
  EXPECT_EQ(GetParam().enqueue(fixture, nullptr), CL_INVALID_COMMAND_QUEUE);
}

// Programs may have the function by the older query, which some loaders answer alone.
TEST_P(ExtensionCommands, NeedOnlyTheOlderQuery) {
  Table below = sim::Driver::table();
  below.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id, const char*) -> void* {
    return nullptr;
  };
  InterposerFixture fixture(default_settings(), default_driver(), 0, below);
  GetParam().add_to(fixture);
  EXPECT_EQ(GetParam().enqueue(fixture, fixture.queue), CL_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(SharedQueue, ExtensionCommands, testing::ValuesIn(extension_commands()),
                         testing::PrintToStringParamName());

// A copy that waits for its end: within the driver until it is told to return.
std::atomic<bool> copy_waits{false};
cl_int CL_API_CALL wait_in_copy(cl_command_queue, cl_bool, void*, const void*, size_t, cl_uint,
                                const cl_event*, cl_event*) {
  copy_waits = true;
  copy_waits.notify_all();
  copy_waits.wait(true);
  return CL_SUCCESS;
}

// A launch does not wait for a thread that the driver holds up: that thread may wait for this very launch.
TEST_F(SharedQueue, BlockingExtensionsCommandDoesNotHoldUpALaunch) {
  constexpr const char* kName = "clEnqueueMemcpyINTEL";
  driver.extension(kName, reinterpret_cast<void*>(wait_in_copy));
  const auto copy = reinterpret_cast<decltype(&wait_in_copy)>(cl.clGetExtensionFunctionAddress(kName));
  const cl_kernel kernel = make_kernel();
  std::jthread copier(
      [&] { EXPECT_EQ(copy(queue, CL_TRUE, nullptr, nullptr, 0, 0, nullptr, nullptr), CL_SUCCESS); });
  copy_waits.wait(false);
  EXPECT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(unsplit(plan::UnsplitReason::shared), 1U);
  copy_waits = false;
  copy_waits.notify_all();
  copier.join();
  EXPECT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(statistics().split, 1U);
  expect_each_item_ran(2);
}

}  // namespace
}  // namespace cleave
