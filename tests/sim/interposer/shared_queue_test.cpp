// Threads that share an in-order queue: nothing of one gets between the slices of another.

#include <algorithm>
#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

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

// The driver's function of cl_img_generate_mipmap: it only notes what was enqueued before it.
const sim::Driver* mipmap_driver = nullptr;
std::size_t slices_before_mipmap = 0;
cl_int CL_API_CALL generate_mipmap(cl_command_queue, cl_mem, cl_mem, cl_uint, const size_t*, const size_t*,
                                   cl_uint, const cl_event*, cl_event*) {
  slices_before_mipmap = mipmap_driver->launches().size();
  return CL_SUCCESS;
}

TEST(ConfiguredSharedQueue, AnExtensionsCommandDoesNotGetBetweenSlices) {
  constexpr const char* kName = "clEnqueueGenerateMipmapIMG";
  InterposerFixture fixture(
      kit::with(default_settings(), &base::Settings::launch, base::LaunchMode::sequential));
  mipmap_driver = &fixture.driver;
  fixture.driver.extension(kName, reinterpret_cast<void*>(generate_mipmap));
  void* const found = fixture.cl.clGetExtensionFunctionAddress(kName);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found, reinterpret_cast<void*>(generate_mipmap)) << "the program has the driver's own";
  const auto enqueue = reinterpret_cast<decltype(&generate_mipmap)>(found);
  const cl_kernel kernel = fixture.make_kernel();
  DriverOnlyEvent gate(fixture);
  std::jthread launcher([&] { EXPECT_EQ(fixture.launch(kernel, nullptr, {gate.get()}), CL_SUCCESS); });
  while (fixture.driver.launches().empty()) std::this_thread::yield();
  const cl_int error =
      enqueue(fixture.queue, fixture.buffer, fixture.buffer, 0, nullptr, nullptr, 0, nullptr, nullptr);
  EXPECT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(slices_before_mipmap, 20U);
  launcher.join();
  gate.open();
  fixture.expect_each_item_ran(1);
}

// Programs may have the function by the older query, which some loaders answer alone.
TEST(ConfiguredSharedQueue, AnExtensionsCommandNeedsOnlyTheOlderQuery) {
  constexpr const char* kName = "clEnqueueGenerateMipmapIMG";
  Table below = sim::Driver::table();
  below.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id, const char*) -> void* {
    return nullptr;
  };
  InterposerFixture fixture(default_settings(), default_driver(), 0, below);
  mipmap_driver = &fixture.driver;
  fixture.driver.extension(kName, reinterpret_cast<void*>(generate_mipmap));
  const auto enqueue =
      reinterpret_cast<decltype(&generate_mipmap)>(fixture.cl.clGetExtensionFunctionAddress(kName));
  ASSERT_NE(enqueue, nullptr);
  EXPECT_EQ(enqueue(fixture.queue, fixture.buffer, fixture.buffer, 0, nullptr, nullptr, 0, nullptr, nullptr),
            CL_SUCCESS);
}

TEST_F(SharedQueue, AnExtensionsCommandIsRefusedOnWhatIsNoQueue) {
  constexpr const char* kName = "clEnqueueGenerateMipmapIMG";
  driver.extension(kName, reinterpret_cast<void*>(generate_mipmap));
  const auto enqueue = reinterpret_cast<decltype(&generate_mipmap)>(cl.clGetExtensionFunctionAddress(kName));
  EXPECT_EQ(enqueue(nullptr, buffer, buffer, 0, nullptr, nullptr, 0, nullptr, nullptr),
            CL_INVALID_COMMAND_QUEUE);
}

}  // namespace
}  // namespace cleave
