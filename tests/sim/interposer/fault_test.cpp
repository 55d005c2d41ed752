// What the program sees when something goes wrong in the middle of a split launch.

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

constexpr const char* kEnqueue = "clEnqueueNDRangeKernel";

class SplitFault : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(SplitFault, RemainingBoxesAreAllLaunched) {
  base::Settings settings = default_settings();
  settings.policy = {base::SplitPolicy::Kind::fixed, 50};
  for (unsigned k = 2; k <= 50; ++k) {
    InterposerFixture fixture(settings, default_driver(), GetParam());
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.kernel("add", [](sim::Execution& e) {
      const auto data = e.buffer<cl_int>(0);
      e.for_each_item([&](const sim::Item& item) { ++data[item.global_id[1] * 64 + item.global_id[0]]; });
    });
    fixture.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
    kit::Event event = fixture.cl.event();
    ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {{64, 64}, {4, 4}}, {}, event.out()), CL_SUCCESS);
    EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
    fixture.expect_each_item_ran(1);
  }
}

// An error at every call that a split launch makes, one by one: the program sees a right answer or one error,
// nothing leaks (the fixture checks), and the next launch works.
TEST_P(SplitFault, AnyDriverCallMayFail) {
  for (const auto mode :
       {base::LaunchMode::queued, base::LaunchMode::sequential, base::LaunchMode::pipelined}) {
    base::Settings settings = default_settings();
    settings.launch = mode;
    for (const char* function :
         {kEnqueue, "clFlush", "clGetEventInfo", "clGetCommandQueueInfo", "clGetDeviceInfo"}) {
      bool came_to_pass = true;
      for (unsigned nth = 1; came_to_pass; ++nth) {
        InterposerFixture fixture(settings, default_driver(), GetParam());
        const cl_kernel kernel = fixture.make_kernel();
        fixture.driver.fail(function, nth, CL_OUT_OF_RESOURCES);
        kit::Event event = fixture.cl.event();
        ASSERT_EQ(fixture.launch(kernel, event.out()), CL_SUCCESS) << function << " " << nth;
        came_to_pass = fixture.driver.faults_left() == 0;
        EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
        fixture.expect_each_item_ran(1);
        if (!came_to_pass) break;
        ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
        fixture.expect_each_item_ran(2);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, SplitFault, testing::ValuesIn(kQueueOrders), queue_order_name);

TEST(SplitFault, FailedWaitListStopsEverySlice) {
  for (const auto properties : kQueueOrders) {
    std::vector<cl_int> statuses;
    for (const unsigned vms : {1U, 5U}) {
      InterposerFixture fixture(kit::with(base::Settings{}, &base::Settings::vms, vms), default_driver(),
                                properties);
      const cl_kernel kernel = fixture.make_kernel();
      cl_event gate = fixture.user_event();
      const kit::Event event = fixture.launch_event(kernel, {gate});
      fixture.cl.clSetUserEventStatus(gate, -5);
      fixture.driver.run_until_idle();
      statuses.push_back(fixture.status(event));
      EXPECT_EQ(fixture.read(), std::vector<cl_int>(InterposerFixture::kItems, 0)) << "no slice may run";
    }
    EXPECT_LT(statuses[0], 0);
    EXPECT_EQ(statuses[0], statuses[1]);
  }
}

// On drivers too that pass a failure on to those commands only that wait for it.
TEST(SplitFault, NoSliceRunsAfterAFailedEventOnAnyDriver) {
  for (const bool in_order : {true, false}) {
    for (const auto mode :
         {base::LaunchMode::queued, base::LaunchMode::sequential, base::LaunchMode::pipelined}) {
      InterposerFixture fixture(kit::with(default_settings(), &base::Settings::launch, mode),
                                kit::with(default_driver(), &sim::Options::ignores_wait_list_failures, true),
                                in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
      cl_event gate = fixture.user_event();
      kit::Event event = fixture.cl.event();
      CallbackLog log;
      ASSERT_EQ(fixture.launch(fixture.make_kernel(), event.out(), {gate}), CL_SUCCESS);
      EXPECT_EQ(InterposerFixture::statistics().split, 1U);
      fixture.at_status(event, CL_COMPLETE, log.action);
      fixture.cl.clSetUserEventStatus(gate, -5);
      EXPECT_EQ(fixture.cl.wait({event}), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
      EXPECT_LT(fixture.status(event), 0);
      EXPECT_EQ(log.status, fixture.status(event));
      EXPECT_EQ(fixture.read(), std::vector<cl_int>(InterposerFixture::kItems, 0)) << "no slice may run";
    }
  }
}

TEST(SplitFault, FailedSliceFailsTheLaunch) { expect_a_failed_slice_fails_the_launch(); }

TEST(SplitFault, FailedSequentialSliceFailsTheLaunch) {
  InterposerFixture fixture(
      kit::with(default_settings(), &base::Settings::launch, base::LaunchMode::sequential));
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.fail_execution("add", 3, -9999);
  const kit::Event event = fixture.launch_event(kernel);
  fixture.driver.run_until_idle();
  EXPECT_LT(fixture.status(event), 0);
  const auto content = fixture.read();
  EXPECT_EQ(content.front(), 1);
  EXPECT_EQ(content.back(), 0) << "nothing runs after the failure";
}

// A launch with one thing wrong.
struct WrongCall {
  bool queue = true;
  bool kernel = true;
  cl_uint dims = 1;
  std::optional<std::size_t> global = 4096;
  std::size_t local = 16;
  std::size_t offset = 0;
  cl_uint waits = 0;
  bool wait_list = false;  // of one event, which is null
  bool wants_event = false;
};

cl_int enqueue(const InterposerFixture& fixture, cl_kernel kernel, const WrongCall& call) {
  const cl_event none = nullptr;
  cl_event event = nullptr;
  return fixture.cl.clEnqueueNDRangeKernel(
      call.queue ? fixture.queue : nullptr, call.kernel ? kernel : nullptr, call.dims,
      call.offset != 0 ? &call.offset : nullptr, call.global ? &*call.global : nullptr, &call.local,
      call.waits, call.wait_list ? &none : nullptr, call.wants_event ? &event : nullptr);
}

// They get the driver's own answer.
TEST(Errors, AreTheDriversOwn) {
  const std::vector<WrongCall> cases = {
      {.queue = false},
      {.kernel = false},
      {.dims = 0},
      {.dims = 4},
      {.global = std::nullopt},
      {.global = 0},
      {.local = 0},
      {.local = 4096},
      {.offset = SIZE_MAX},
      {.waits = 1},
      {.waits = 2, .wants_event = true},
      {.waits = 1, .wait_list = true},
      {.wait_list = true},
      {.waits = 1, .wants_event = true},
  };
  using Mode = base::LaunchMode;
  const auto answer = [](const WrongCall& call, unsigned vms, Mode mode, cl_command_queue_properties queue) {
    InterposerFixture fixture(
        kit::with(base::Settings{}, &base::Settings::vms, vms, &base::Settings::launch, mode),
        default_driver(), queue);
    const cl_int error = enqueue(fixture, fixture.make_kernel(), call);
    EXPECT_TRUE(fixture.driver.executions().empty());
    return error;
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const auto queue : kQueueOrders) {
      const cl_int native = answer(cases[i], 1, Mode::queued, queue);
      EXPECT_NE(native, CL_SUCCESS) << "case " << i;
      for (const Mode mode : {Mode::automatic, Mode::queued, Mode::sequential, Mode::pipelined})
        EXPECT_EQ(answer(cases[i], 5, mode, queue), native) << "case " << i;
    }
  }
}

TEST(Errors, UnsetArgumentReturnsTheDriversError) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(kSplittable);
  const kit::Kernel kernel = fixture.cl.kernel(program, "add");
  EXPECT_EQ(fixture.launch(kernel), CL_INVALID_KERNEL_ARGS);
}

}  // namespace
}  // namespace cleave
