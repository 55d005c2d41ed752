// Threads that share an in-order queue: nothing of one gets between the slices of another.

#include <algorithm>
#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

TEST(SharedQueue, EveryOtherFunctionThatEnqueuesPassesTheGate) {
  Scene scene;
  std::size_t seen = 0;
#define CL_FUNCTION(version, result, name, parameters, arguments)                                  \
  if (std::string_view(#name).starts_with("clEnqueue")) {                                          \
    ++seen;                                                                                        \
    EXPECT_NE(scene.cl.name, sim::Driver::table().name) << #name << " may get between two slices"; \
  }
#include "icd/functions.def"
#undef CL_FUNCTION
  EXPECT_GT(seen, 30U);
}

// One thread launches kernels that write the launch's number to every element; another reads the whole buffer
// on the same queue all the while. Whatever it reads must be of one launch.
TEST(SharedQueue, ReadersNeverSeeAPieceOfALaunch) {
  for (const auto mode : {base::LaunchMode::queued, base::LaunchMode::sequential}) {
    base::Settings settings = usual_settings();
    settings.launch = mode;
    Scene scene(settings);
    scene.driver.kernel("add", [](sim::Execution& e) {
      const auto data = e.buffer<cl_int>(0);
      e.for_each_item([&](const sim::Item& item) { data[item.global_id[0]] = e.value<cl_int>(1); });
    });
    const cl_kernel kernel = scene.make_kernel();
    std::atomic<bool> done{false};
    std::jthread writer([&] {
      for (cl_int n = 1; n <= 100; ++n) {
        EXPECT_EQ(scene.cl.clSetKernelArg(kernel, 1, sizeof n, &n), CL_SUCCESS);
        EXPECT_EQ(scene.launch(kernel), CL_SUCCESS);
      }
      done = true;
    });
    std::size_t reads = 0;
    std::size_t torn = 0;
    for (; !done || reads == 0; ++reads) {
      const auto content = scene.read();
      if (std::adjacent_find(content.begin(), content.end(), std::not_equal_to<>()) != content.end()) ++torn;
    }
    writer.join();
    EXPECT_EQ(torn, 0U) << "of " << reads;
    EXPECT_EQ(scene.read(), std::vector<cl_int>(Scene::kItems, 100));
    EXPECT_EQ(Scene::tally().launches, 100U);
  }
}

TEST(SharedQueue, TwoLaunchesOfTwoThreadsDoNotMix) {
  Scene scene;
  const cl_program program = scene.make_program(kSplittable);
  const std::vector<cl_kernel> kernels = {scene.make_kernel(program, "add"),
                                          scene.make_kernel(program, "sum")};
  {
    std::vector<std::jthread> threads;
    for (const cl_kernel kernel : kernels) {
      threads.emplace_back([&scene, kernel] {
        for (int i = 0; i < 50; ++i) EXPECT_EQ(scene.launch(kernel), CL_SUCCESS);
      });
    }
  }
  std::size_t end = Scene::kItems;  // where the slice before ended
  std::string kernel;
  for (const auto& slice : scene.driver.launches()) {
    if (end == Scene::kItems) {
      EXPECT_EQ(slice.offset[0], 0U);
    } else {
      EXPECT_EQ(slice.offset[0], end);
      EXPECT_EQ(slice.kernel, kernel);
    }
    kernel = slice.kernel;
    end = slice.offset[0] + slice.global[0];
  }
  scene.expect_each_item_ran(100);
}

// A thread that paces its launch holds nobody up for long: as soon as another thread wants the queue it makes
// haste.
TEST(SharedQueue, WaitingThreadMakesASequentialLaunchHurry) {
  base::Settings settings = usual_settings();
  settings.launch = base::LaunchMode::sequential;
  Scene scene(settings);
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = sim::Driver::table().clCreateUserEvent(scene.context, nullptr);  // unknown to Cleave
  std::jthread launcher([&] { EXPECT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS); });
  while (scene.driver.launches().empty()) std::this_thread::yield();
  cl_event marker = nullptr;
  EXPECT_EQ(scene.cl.clEnqueueMarkerWithWaitList(scene.queue, 0, nullptr, &marker), CL_SUCCESS);
  launcher.join();
  EXPECT_EQ(scene.driver.launches().size(), 20U);
  sim::Driver::table().clSetUserEventStatus(gate, CL_COMPLETE);
  sim::Driver::table().clReleaseEvent(gate);
  scene.cl.clReleaseEvent(marker);
  scene.expect_each_item_ran(1);
}

}  // namespace
}  // namespace cleave
