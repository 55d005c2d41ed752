// What the program sees when something goes wrong in the middle of a split launch.

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

constexpr const char* kEnqueue = "clEnqueueNDRangeKernel";

class SplitFault : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(SplitFault, RejectedSliceSendsTheRestInOneLaunch) {
  for (unsigned k = 2; k <= 20; ++k) {
    InterposerFixture fixture(default_settings(), default_driver(), GetParam());
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
    kit::Event event = fixture.cl.event();
    ASSERT_EQ(fixture.launch(kernel, event.out()), CL_SUCCESS) << "slice " << k;
    EXPECT_EQ(fixture.driver.launches().size(), k) << "the slices before, and one for the rest";
    EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
    fixture.expect_each_item_ran(1);
    EXPECT_EQ(InterposerFixture::statistics().slices, k);
  }
}

TEST_P(SplitFault, RejectedFirstSliceForwardsTheLaunch) {
  InterposerFixture fixture(default_settings(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.fail(kEnqueue, 1, CL_OUT_OF_RESOURCES);
  cl_event event = nullptr;
  ASSERT_EQ(fixture.launch(kernel, &event), CL_SUCCESS);
  ASSERT_EQ(fixture.driver.launches().size(), 1U);
  EXPECT_EQ(fixture.driver.launches()[0].global[0], InterposerFixture::kItems);
  fixture.cl.clReleaseEvent(event);
  fixture.expect_each_item_ran(1);

  fixture.driver.fail(kEnqueue, 1, CL_OUT_OF_RESOURCES);
  fixture.driver.fail(kEnqueue, 2, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  event = nullptr;
  EXPECT_EQ(fixture.launch(kernel, &event), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(event, nullptr);
  fixture.expect_each_item_ran(1);
  EXPECT_EQ(InterposerFixture::statistics().launches, 1U) << "a call that failed is not counted";
}

TEST_P(SplitFault, RejectedRestReturnsOneError) {
  for (unsigned k = 2; k <= 20; ++k) {
    InterposerFixture fixture(default_settings(), default_driver(), GetParam());
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
    fixture.driver.fail(kEnqueue, k + 1, CL_OUT_OF_HOST_MEMORY);
    cl_event event = nullptr;
    EXPECT_EQ(fixture.launch(kernel, &event), CL_OUT_OF_HOST_MEMORY);
    EXPECT_EQ(event, nullptr);
    EXPECT_EQ(fixture.driver.count(kEnqueue), k + 1) << "nothing is retried";
    fixture.cl.clFinish(fixture.queue);
    const auto before = fixture.read();
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    fixture.cl.clFinish(fixture.queue);
    const auto after = fixture.read();
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], before[i] + 1);
  }
}

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
    const std::size_t global[] = {64, 64};
    const std::size_t local[] = {4, 4};
    fixture.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
    kit::Event event = fixture.cl.event();
    ASSERT_EQ(fixture.cl.clEnqueueNDRangeKernel(fixture.queue, kernel, 2, nullptr, global, local, 0, nullptr,
                                                event.out()),
              CL_SUCCESS);
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

INSTANTIATE_TEST_SUITE_P(Queues, SplitFault,
                         testing::Values(cl_command_queue_properties{0},
                                         cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "InOrder" : "OutOfOrder"; });

TEST(SplitFault, FailedWaitListStopsEverySlice) {
  for (const auto properties : {cl_command_queue_properties{0},
                                cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    std::vector<cl_int> statuses;
    for (const unsigned vms : {1U, 5U}) {
      base::Settings settings;
      settings.vms = vms;
      InterposerFixture fixture(settings, default_driver(), properties);
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
      base::Settings settings = default_settings();
      settings.launch = mode;
      sim::Options options = default_driver();
      options.ignores_wait_list_failures = true;
      InterposerFixture fixture(settings, options, in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
      cl_event gate = fixture.user_event();
      kit::Event event = fixture.cl.event();
      cl_int reported = 0;
      ASSERT_EQ(fixture.launch(fixture.make_kernel(), event.out(), {gate}), CL_SUCCESS);
      EXPECT_EQ(InterposerFixture::statistics().split, 1U);
      fixture.cl.clSetEventCallback(
          event, CL_COMPLETE, [](cl_event, cl_int status, void* to) { *static_cast<cl_int*>(to) = status; },
          &reported);
      fixture.cl.clSetUserEventStatus(gate, -5);
      EXPECT_EQ(fixture.cl.wait({event}), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
      EXPECT_LT(fixture.status(event), 0);
      EXPECT_EQ(reported, fixture.status(event));
      EXPECT_EQ(fixture.read(), std::vector<cl_int>(InterposerFixture::kItems, 0)) << "no slice may run";
    }
  }
}

TEST(SplitFault, FailedSliceFailsTheLaunch) {
  for (unsigned k = 1; k <= 20; ++k) {
    InterposerFixture fixture;
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.fail_execution("add", k, -9999);
    const kit::Event event = fixture.launch_event(kernel);
    EXPECT_EQ(fixture.cl.wait({event}), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_LT(fixture.status(event), 0) << "slice " << k;
    if (k == 1 || k == 20) {
      EXPECT_EQ(fixture.status(event), -9999);
    }
  }
}

TEST(SplitFault, FailedSequentialSliceFailsTheLaunch) {
  base::Settings settings = default_settings();
  settings.launch = base::LaunchMode::sequential;
  InterposerFixture fixture(settings);
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.fail_execution("add", 3, -9999);
  const kit::Event event = fixture.launch_event(kernel);
  fixture.driver.run_until_idle();
  EXPECT_LT(fixture.status(event), 0);
  const auto content = fixture.read();
  EXPECT_EQ(content.front(), 1);
  EXPECT_EQ(content.back(), 0) << "nothing runs after the failure";
}

// Calls that are wrong get the driver's own answer.
TEST(Errors, AreTheDriversOwn) {
  using Case = std::function<cl_int(const InterposerFixture&, cl_kernel)>;
  const std::size_t global = 4096;
  const std::size_t local = 16;
  const std::size_t zero = 0;
  const std::size_t far = SIZE_MAX;
  const std::vector<Case> cases = {
      [&](const InterposerFixture& s, cl_kernel k) {
        return s.cl.launch(nullptr, k, {global, local});
      },
      [&](const InterposerFixture& s, cl_kernel) {
        return s.cl.launch(s.queue, nullptr, {global, local});
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 0, nullptr, &global, &local, 0, nullptr, nullptr);
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 4, nullptr, &global, &local, 0, nullptr, nullptr);
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, nullptr, &local, 0, nullptr, nullptr);
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        return s.cl.launch(s.queue, k, {zero, local});
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        return s.cl.launch(s.queue, k, {global, zero});
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        return s.cl.launch(s.queue, k, {global, 4096});
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        return s.cl.launch(s.queue, k, {global, local, far});
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &local, 1, nullptr, nullptr);
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        cl_event event = nullptr;
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &local, 2, nullptr, &event);
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        const cl_event none = nullptr;
        return s.cl.launch(s.queue, k, {global, local}, {none});
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        const cl_event none = nullptr;
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &local, 0, &none, nullptr);
      },
      [&](const InterposerFixture& s, cl_kernel k) {
        cl_event event = nullptr;
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &local, 1, nullptr, &event);
      },
  };
  using Mode = base::LaunchMode;
  const auto answer = [](const Case& call, unsigned vms, Mode mode, cl_command_queue_properties queue) {
    base::Settings settings;
    settings.vms = vms;
    settings.launch = mode;
    InterposerFixture fixture(settings, default_driver(), queue);
    const cl_int error = call(fixture, fixture.make_kernel());
    EXPECT_TRUE(fixture.driver.executions().empty());
    return error;
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const auto queue : {cl_command_queue_properties{0},
                             cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
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
