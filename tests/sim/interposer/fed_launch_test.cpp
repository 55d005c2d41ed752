// Launches that the feeder enqueues while the program goes on. Each is stopped in its middle: another participant takes the
// device after some slices, and keeps it until the test lets it go.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <sys/wait.h>

#include "tests/kit/eventually.h"
#include "tests/kit/sanitizers.h"
#include "tests/sim/interposer/turn_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class FedLaunch : public testing::Test, public TurnsFolder, public InterposerFixture {
 protected:
  FedLaunch() : InterposerFixture(in_turns(folder.path())), other_(forks_, beside(folder.path(), driver)) {
    driver.cost("add", [](const sim::Launch& launch) {
      return base::Nanoseconds(1'000) * static_cast<int>(launch.global[0]);
    });
    driver.kernel("add", [this](sim::Execution& e) {
      sim::add_to_elements(e);
      if (stops_ && ++slices_ == kSlicesBefore) stop();
    });
    std::string problem;
    EXPECT_TRUE(other_.enter(problem)) << problem;
    EXPECT_EQ(launch(kernel), CL_SUCCESS);  // from now on the kernel is known
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    EXPECT_EQ(cl.write(queue, buffer, std::vector<cl_int>(kItems, 0)), CL_SUCCESS);
    driver.forget();
  }
  ~FedLaunch() override {
    go_on();
    if (neighbour_.joinable()) neighbour_.join();
    await_feeder();
    // Until the grace of this process is over it holds the device, and events.
    EXPECT_TRUE(kit::eventually([&] {
      driver.clock().sleep_for(100ms);
      for (const auto& each : other_.snapshot()) {
        if (each.holds) return false;
      }
      return true;
    }));
  }

  // Returns while the launch is in its middle.
  void launch_and_stop(const kit::Waits& waits = {}) { launch_and_stop(queue, kernel, waits); }
  void launch_and_stop(cl_command_queue where, cl_kernel which, const kit::Waits& waits = {}) {
    stops_ = true;
    ASSERT_EQ(launch_on(where, which, nullptr, waits), CL_SUCCESS);
    ASSERT_TRUE(kit::eventually([&] { return has_device_.load(); }));
    ASSERT_TRUE(interpose::interposer().feeder.feeds() || !has_device());
  }
  void go_on() { goes_on_ = true; }
  // After the program's next call has had the time to go wrong. What is right waits for this.
  void go_on_soon() {
    helper_ = std::jthread([this] {
      std::this_thread::sleep_for(20ms);
      go_on();
    });
  }
  [[nodiscard]] bool has_gone_on() const { return goes_on_; }
  // The program's call has. On a machine that is very busy the other participant may have lost the device for want of life.
  [[nodiscard]] bool has_waited() { return goes_on_ || !has_device(); }

  const cl_kernel kernel = make_kernel();

 private:
  static constexpr int kSlicesBefore = 5;

  // The other one, which has joined first.
  bool has_device() { return other_.snapshot().front().holds; }

  void stop() {
    neighbour_ = std::jthread([this] {
      EXPECT_TRUE(other_.begin());
      has_device_ = true;
      EXPECT_TRUE(kit::eventually([this] {
        static_cast<void>(other_.should_yield());  // a heartbeat
        return goes_on_.load();
      }));
      other_.end();
    });
    EXPECT_TRUE(kit::eventually([this] {
      for (const auto& each : other_.snapshot()) {
        if (each.waits || has_device_) return true;
      }
      return false;
    }));
  }

  base::ForkLocks forks_;
  turns::Turns other_;
  std::atomic<bool> stops_{false};
  std::atomic<int> slices_{0};
  std::atomic<bool> has_device_{false};
  std::atomic<bool> goes_on_{false};
  std::jthread neighbour_;
  std::jthread helper_;
};

TEST_F(FedLaunch, CallReturnsBeforeItsLastSlice) {
  launch_and_stop();
  const std::size_t before = driver.launches().size();
  go_on();
  await_feeder();
  EXPECT_GT(driver.launches().size(), before);
  expect_each_item_ran(1);
}

TEST_F(FedLaunch, FinishWaitsForTheLastSlice) {
  launch_and_stop();
  go_on_soon();
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_TRUE(has_waited());
  expect_each_item_ran(1);
}

TEST_F(FedLaunch, ArgumentsAreThoseOfTheCall) {
  launch_and_stop();
  go_on_soon();
  EXPECT_EQ(cl.set_arguments(kernel, buffer, cl_int{100}), CL_SUCCESS);
  EXPECT_TRUE(has_waited());
  expect_each_item_ran(1);
}

TEST_F(FedLaunch, ArgumentsOfAnotherKernelAreSetAtOnce) {
  const cl_kernel another = make_kernel();
  launch_and_stop();
  EXPECT_EQ(cl.set_arguments(another, buffer, cl_int{100}), CL_SUCCESS);
  EXPECT_FALSE(has_gone_on());
  go_on();
  expect_each_item_ran(1);
}

TEST_F(FedLaunch, NextCommandComesAfterTheLastSlice) {
  launch_and_stop();
  go_on_soon();
  const std::vector<cl_int> sevens(kItems, 7);
  EXPECT_EQ(cl.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sevens.size() * sizeof(cl_int), sevens.data(),
                                    0, nullptr, nullptr),
            CL_SUCCESS);
  expect_each_item_ran(7);
}

TEST_F(FedLaunch, NextLaunchComesAfterTheLastSlice) {
  launch_and_stop();
  go_on_soon();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(launch(kernel), CL_SUCCESS);
  expect_each_item_ran(6);
}

TEST_F(FedLaunch, CommandsOnOtherQueuesDoNotWait) {
  cl_command_queue elsewhere = make_queue();
  const std::vector<cl_int> sevens(kItems, 7);
  const cl_mem another = make_buffer();
  launch_and_stop();
  EXPECT_EQ(cl.write(elsewhere, another, sevens), CL_SUCCESS);
  EXPECT_EQ(cl.clFinish(elsewhere), CL_SUCCESS);
  EXPECT_FALSE(has_gone_on());
  go_on();
  expect_each_item_ran(1);
}

// The driver frees them when the last command that it knows of has ended.
TEST_F(FedLaunch, ObjectsMayBeReleasedAtOnce) {
  kit::Buffer own_buffer = cl.buffer(context, std::vector<cl_int>(kItems, 0));
  kit::Queue own_queue = cl.queue(context, device);
  kit::Program program = cl.build(context, kSplittable);
  kit::Kernel add = cl.kernel(program, "add", own_buffer, cl_int{1});
  launch_and_stop(own_queue, add);
  go_on_soon();
  add.reset();
  EXPECT_TRUE(has_waited());
  program.reset();
  own_buffer.reset();
  own_queue.reset();
  EXPECT_EQ(statistics().launches, 2U);
}

TEST_F(FedLaunch, MemoryMayBeReleasedAtOnce) {
  kit::Buffer own_buffer = cl.buffer(context, std::vector<cl_int>(kItems, 0));
  ASSERT_EQ(cl.set_arguments(kernel, own_buffer, cl_int{1}), CL_SUCCESS);
  launch_and_stop();
  go_on_soon();
  own_buffer.reset();
  EXPECT_TRUE(has_waited());
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
}

TEST_F(FedLaunch, EventsOfItsWaitListMayBeReleasedAtOnce) {
  kit::Event marker = cl.marker_event(make_queue());
  launch_and_stop({marker});
  marker.reset();
  go_on();
  expect_each_item_ran(1);
}

TEST_F(FedLaunch, LateRefusalIsTheErrorOfTheNextCall) {
  launch_and_stop();
  for (unsigned i = 1; i <= 4; ++i) driver.fail("clEnqueueNDRangeKernel", i, CL_OUT_OF_RESOURCES);
  go_on();
  EXPECT_EQ(cl.clFinish(queue), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
}

TEST_F(FedLaunch, LateRefusalReachesAMappingToo) {
  launch_and_stop();
  for (unsigned i = 1; i <= 4; ++i) driver.fail("clEnqueueNDRangeKernel", i, CL_OUT_OF_RESOURCES);
  go_on();
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(cl.clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, sizeof(cl_int), 0, nullptr, nullptr,
                                  &error),
            nullptr);
  EXPECT_EQ(error, CL_OUT_OF_RESOURCES);
}

// It may come on the feeder's thread, and do what waits for the feeder.
TEST_F(FedLaunch, ProgramsWithCallbacksAreNotFed) {
  const kit::Event marker = cl.marker_event(make_queue());
  launch_and_stop();
  const kit::Setup::EventAction action = [](cl_event, cl_int) {};
  at_status(marker, CL_COMPLETE, action);
  EXPECT_FALSE(interpose::interposer().feeder.feeds());
  EXPECT_FALSE(has_gone_on()) << "it waited for the other process";
  go_on();
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_FALSE(interpose::interposer().feeder.feeds());
  expect_each_item_ran(2);
}

TEST_F(FedLaunch, ProgramsWithDestructorCallbacksAreNotFed) {
  kit::Buffer watched = cl.buffer(context, std::vector<cl_int>(kItems, 0));
  const auto nothing = [](cl_mem, void*) {};
  ASSERT_EQ(cl.clSetMemObjectDestructorCallback(watched, nothing, nullptr), CL_SUCCESS);
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_FALSE(interpose::interposer().feeder.feeds());
  expect_each_item_ran(1);
}

TEST_F(FedLaunch, OtherReferencesToItsQueueAreReleasedAtOnce) {
  ASSERT_EQ(cl.clRetainCommandQueue(queue), CL_SUCCESS);
  launch_and_stop();
  EXPECT_EQ(cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  EXPECT_FALSE(has_gone_on());
  go_on();
  expect_each_item_ran(1);
}

TEST_F(FedLaunch, ReleaseOfOneReferenceKeepsTheError) {
  ASSERT_EQ(cl.clRetainCommandQueue(queue), CL_SUCCESS);
  launch_and_stop();
  for (unsigned i = 1; i <= 4; ++i) driver.fail("clEnqueueNDRangeKernel", i, CL_OUT_OF_RESOURCES);
  go_on();
  EXPECT_EQ(cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  EXPECT_EQ(cl.clFinish(queue), CL_OUT_OF_RESOURCES);
}

TEST_F(FedLaunch, PropertiesOfItsQueueAreSetAfterIt) {
  launch_and_stop();
  go_on_soon();
  cl.clSetCommandQueueProperty(queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, nullptr);
  EXPECT_TRUE(has_waited());
  expect_each_item_ran(1);
}

TEST_F(FedLaunch, AnotherThreadOnItsQueueDoesNotWaitForTheDevice) {
  launch_and_stop();
  std::jthread([&] { EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS); }).join();
  EXPECT_FALSE(has_gone_on());
  expect_each_item_ran(1);
  go_on();
}

TEST_F(FedLaunch, ChildOfAForkIsNotFed) {
  if (kit::kThreadSanitizer) GTEST_SKIP() << "it cannot follow a fork";
  launch_and_stop();
  interpose::Interposer& p = interpose::interposer();
  p.before_fork();
  const pid_t child = fork();
  if (child == 0) {
    p.after_fork_in_child();
    _exit(p.feeder.feeds() ? 1 : 0);
  }
  p.after_fork_in_parent();
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  go_on();
  expect_each_item_ran(1);
}

TEST_F(FedLaunch, ExitDoesNotWaitForTheDevice) {
  launch_and_stop();
  interpose::at_exit();
  EXPECT_TRUE(kit::eventually([] { return !interpose::interposer().feeder.feeds(); }));
  EXPECT_FALSE(has_gone_on());
  expect_each_item_ran(1);
}

// What Cleave does not know it cannot keep from coming between two slices.
TEST_F(FedLaunch, ProgramsThatUseUnknownFunctionsAreNotFed) {
  launch_and_stop();
  int unknown = 0;
  driver.extension("clEnqueueSomethingEXT", &unknown);
  EXPECT_EQ(cl.clGetExtensionFunctionAddressForPlatform(driver.platform(), "clEnqueueSomethingEXT"),
            &unknown);
  EXPECT_FALSE(interpose::interposer().feeder.feeds());
  EXPECT_FALSE(has_gone_on());
  go_on();
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_FALSE(interpose::interposer().feeder.feeds());
  expect_each_item_ran(2);
}

}  // namespace
}  // namespace cleave
