// Threads that share an in-order queue: nothing of one gets between the slices of another.

#include <algorithm>
#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

TEST(SharedQueue, EveryEnqueueFunctionPassesTheGate) {
  InterposerFixture fixture;
  std::size_t seen = 0;
#define CL_FUNCTION(version, name, ...)                                                              \
  if (std::string_view(#name).starts_with("clEnqueue")) {                                            \
    ++seen;                                                                                          \
    EXPECT_NE(fixture.cl.name, sim::Driver::table().name) << #name << " may get between two slices"; \
  }
#include "opencl/functions.def"
#undef CL_FUNCTION
  EXPECT_GT(seen, 30U);
}

// One thread launches kernels that write the launch's number to every element; another reads the whole buffer
// on the same queue all the while. Whatever it reads must be of one launch.
TEST(SharedQueue, ReadersNeverSeeAPartialLaunch) {
  for (const auto mode : {base::LaunchMode::queued, base::LaunchMode::sequential}) {
    base::Settings settings = default_settings();
    settings.launch = mode;
    InterposerFixture fixture(settings);
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

TEST(SharedQueue, ConcurrentLaunchesDoNotInterleave) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(kSplittable);
  const std::vector<cl_kernel> kernels = {fixture.make_kernel(program, "add"),
                                          fixture.make_kernel(program, "sum")};
  {
    std::vector<std::jthread> threads;
    for (const cl_kernel kernel : kernels) {
      threads.emplace_back([&fixture, kernel] {
        for (int i = 0; i < 50; ++i) EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
      });
    }
  }
  std::size_t end = InterposerFixture::kItems;  // where the slice before ended
  std::string kernel;
  for (const auto& slice : fixture.driver.launches()) {
    if (end == InterposerFixture::kItems) {
      EXPECT_EQ(slice.offset[0], 0U);
    } else {
      EXPECT_EQ(slice.offset[0], end);
      EXPECT_EQ(slice.kernel, kernel);
    }
    kernel = slice.kernel;
    end = slice.offset[0] + slice.global[0];
  }
  fixture.expect_each_item_ran(100);
}

// A thread that paces its launch delays no other for long: it stops pacing as soon as another thread wants the
// queue.
TEST(SharedQueue, WaitingThreadAbortsPacing) {
  base::Settings settings = default_settings();
  settings.launch = base::LaunchMode::sequential;
  InterposerFixture fixture(settings);
  const cl_kernel kernel = fixture.make_kernel();
  cl_event gate = sim::Driver::table().clCreateUserEvent(fixture.context, nullptr);  // unknown to Cleave
  std::jthread launcher([&] { EXPECT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS); });
  while (fixture.driver.launches().empty()) std::this_thread::yield();
  const kit::Event marker = fixture.cl.marker_event(fixture.queue);
  launcher.join();
  EXPECT_EQ(fixture.driver.launches().size(), 20U);
  sim::Driver::table().clSetUserEventStatus(gate, CL_COMPLETE);
  sim::Driver::table().clReleaseEvent(gate);
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

TEST(SharedQueue, AnExtensionsCommandDoesNotGetBetweenSlices) {
  constexpr const char* kName = "clEnqueueGenerateMipmapIMG";
  base::Settings settings = default_settings();
  settings.launch = base::LaunchMode::sequential;
  InterposerFixture fixture(settings);
  mipmap_driver = &fixture.driver;
  fixture.driver.extension(kName, reinterpret_cast<void*>(generate_mipmap));
  void* const found = fixture.cl.clGetExtensionFunctionAddress(kName);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found, reinterpret_cast<void*>(generate_mipmap)) << "the program has the driver's own";
  const auto enqueue = reinterpret_cast<decltype(&generate_mipmap)>(found);
  const cl_kernel kernel = fixture.make_kernel();
  cl_event user_event =
      sim::Driver::table().clCreateUserEvent(fixture.context, nullptr);  // unknown to Cleave
  std::jthread launcher([&] { EXPECT_EQ(fixture.launch(kernel, nullptr, {user_event}), CL_SUCCESS); });
  while (fixture.driver.launches().empty()) std::this_thread::yield();
  const cl_int error =
      enqueue(fixture.queue, fixture.buffer, fixture.buffer, 0, nullptr, nullptr, 0, nullptr, nullptr);
  EXPECT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(slices_before_mipmap, 20U);
  launcher.join();
  sim::Driver::table().clSetUserEventStatus(user_event, CL_COMPLETE);
  sim::Driver::table().clReleaseEvent(user_event);
  fixture.expect_each_item_ran(1);
}

TEST(SharedQueue, AnExtensionsCommandIsRefusedOnWhatIsNoQueue) {
  constexpr const char* kName = "clEnqueueGenerateMipmapIMG";
  InterposerFixture fixture;
  fixture.driver.extension(kName, reinterpret_cast<void*>(generate_mipmap));
  const auto enqueue =
      reinterpret_cast<decltype(&generate_mipmap)>(fixture.cl.clGetExtensionFunctionAddress(kName));
  EXPECT_EQ(enqueue(nullptr, fixture.buffer, fixture.buffer, 0, nullptr, nullptr, 0, nullptr, nullptr),
            CL_INVALID_COMMAND_QUEUE);
}

}  // namespace
}  // namespace cleave
