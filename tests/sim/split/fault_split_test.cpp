// What the program sees when something goes wrong in the middle of a split launch.

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

constexpr const char* kEnqueue = "clEnqueueNDRangeKernel";

class Fault : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(Fault, SliceKRefused_RestGoesInOneLaunch) {
  for (unsigned k = 2; k <= 20; ++k) {
    Scene scene(usual_settings(), usual_driver(), GetParam());
    const cl_kernel kernel = scene.make_kernel();
    scene.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS) << "slice " << k;
    EXPECT_EQ(scene.driver.launches().size(), k) << "the slices before, and one for the rest";
    EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
    scene.cl.clReleaseEvent(event);
    scene.expect_each_item_ran(1);
    EXPECT_EQ(Scene::tally().slices, k);
  }
}

TEST_P(Fault, FirstSliceRefused_TheWholeLaunchHasTheDriversAnswer) {
  Scene scene(usual_settings(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  scene.driver.fail(kEnqueue, 1, CL_OUT_OF_RESOURCES);
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  ASSERT_EQ(scene.driver.launches().size(), 1U);
  EXPECT_EQ(scene.driver.launches()[0].global[0], Scene::kItems);
  scene.cl.clReleaseEvent(event);
  scene.expect_each_item_ran(1);

  scene.driver.fail(kEnqueue, 1, CL_OUT_OF_RESOURCES);
  scene.driver.fail(kEnqueue, 2, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  event = nullptr;
  EXPECT_EQ(scene.launch(kernel, &event), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(event, nullptr);
  scene.expect_each_item_ran(1);
  EXPECT_EQ(Scene::tally().launches, 1U) << "a call that failed is not counted";
}

TEST_P(Fault, RestRefusedToo_OneCleanErrorNoRetryAndTheNextLaunchWorks) {
  for (unsigned k = 2; k <= 20; ++k) {
    Scene scene(usual_settings(), usual_driver(), GetParam());
    const cl_kernel kernel = scene.make_kernel();
    scene.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
    scene.driver.fail(kEnqueue, k + 1, CL_OUT_OF_HOST_MEMORY);
    cl_event event = nullptr;
    EXPECT_EQ(scene.launch(kernel, &event), CL_OUT_OF_HOST_MEMORY);
    EXPECT_EQ(event, nullptr);
    EXPECT_EQ(scene.driver.count(kEnqueue), k + 1) << "nothing is retried";
    scene.cl.clFinish(scene.queue);
    const auto before = scene.read();
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    scene.cl.clFinish(scene.queue);
    const auto after = scene.read();
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], before[i] + 1);
  }
}

TEST_P(Fault, BoxesLeftOverAreAllLaunched) {
  base::Settings settings = usual_settings();
  settings.policy = {base::SplitPolicy::Kind::fixed, 50};
  for (unsigned k = 2; k <= 50; ++k) {
    Scene scene(settings, usual_driver(), GetParam());
    const cl_kernel kernel = scene.make_kernel();
    scene.driver.kernel("add", [](sim::Execution& e) {
      const auto data = e.buffer<cl_int>(0);
      e.for_each_item([&](const sim::Item& item) { ++data[item.global_id[1] * 64 + item.global_id[0]]; });
    });
    const std::size_t global[] = {64, 64};
    const std::size_t local[] = {4, 4};
    scene.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
    cl_event event = nullptr;
    ASSERT_EQ(
        scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 2, nullptr, global, local, 0, nullptr, &event),
        CL_SUCCESS);
    EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
    scene.cl.clReleaseEvent(event);
    scene.expect_each_item_ran(1);
  }
}

// An error at every call that a split launch makes, one by one: the program sees a right answer or one error,
// nothing leaks (the scene looks), and the next launch works.
TEST_P(Fault, EveryCallOfALaunchMayFail) {
  for (const auto mode :
       {base::LaunchMode::queued, base::LaunchMode::sequential, base::LaunchMode::pipelined}) {
    base::Settings settings = usual_settings();
    settings.launch = mode;
    for (const char* function :
         {kEnqueue, "clFlush", "clGetEventInfo", "clGetCommandQueueInfo", "clGetDeviceInfo"}) {
      bool came_to_pass = true;
      for (unsigned nth = 1; came_to_pass; ++nth) {
        Scene scene(settings, usual_driver(), GetParam());
        const cl_kernel kernel = scene.make_kernel();
        scene.driver.fail(function, nth, CL_OUT_OF_RESOURCES);
        cl_event event = nullptr;
        ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS) << function << " " << nth;
        came_to_pass = scene.driver.faults_left() == 0;
        EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
        scene.cl.clReleaseEvent(event);
        scene.expect_each_item_ran(1);
        if (!came_to_pass) break;
        ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
        scene.expect_each_item_ran(2);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, Fault,
                         testing::Values(cl_command_queue_properties{0},
                                         cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "InOrder" : "OutOfOrder"; });

TEST(Fault, FailedWaitListStopsEverySliceAsItStopsTheWhole) {
  for (const auto properties : {cl_command_queue_properties{0},
                                cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    std::vector<cl_int> statuses;
    for (const unsigned vms : {1U, 5U}) {
      base::Settings settings;
      settings.vms = vms;
      Scene scene(settings, usual_driver(), properties);
      const cl_kernel kernel = scene.make_kernel();
      cl_event gate = scene.user_event();
      cl_event event = nullptr;
      ASSERT_EQ(scene.launch(kernel, &event, {gate}), CL_SUCCESS);
      scene.cl.clSetUserEventStatus(gate, -5);
      scene.driver.run_until_idle();
      statuses.push_back(scene.status(event));
      scene.cl.clReleaseEvent(event);
      EXPECT_EQ(scene.read(), std::vector<cl_int>(Scene::kItems, 0)) << "no slice may run";
    }
    EXPECT_LT(statuses[0], 0);
    EXPECT_EQ(statuses[0], statuses[1]);
  }
}

// On drivers too that pass a failure on to those commands only that wait for it.
TEST(Fault, NoSliceRunsBehindAFailedEventWhateverTheDriverPassesOn) {
  for (const bool in_order : {true, false}) {
    for (const auto mode :
         {base::LaunchMode::queued, base::LaunchMode::sequential, base::LaunchMode::pipelined}) {
      base::Settings settings = usual_settings();
      settings.launch = mode;
      sim::Options options = usual_driver();
      options.forgets_failures = true;
      Scene scene(settings, options, in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
      cl_event gate = scene.user_event();
      cl_event event = nullptr;
      cl_int told = 0;
      ASSERT_EQ(scene.launch(scene.make_kernel(), &event, {gate}), CL_SUCCESS);
      EXPECT_EQ(Scene::tally().split, 1U);
      scene.cl.clSetEventCallback(
          event, CL_COMPLETE, [](cl_event, cl_int status, void* to) { *static_cast<cl_int*>(to) = status; },
          &told);
      scene.cl.clSetUserEventStatus(gate, -5);
      EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
      EXPECT_LT(scene.status(event), 0);
      EXPECT_EQ(told, scene.status(event));
      scene.cl.clReleaseEvent(event);
      EXPECT_EQ(scene.read(), std::vector<cl_int>(Scene::kItems, 0)) << "no slice may run";
    }
  }
}

TEST(Fault, AnySliceThatFailsFailsTheLaunch) {
  for (unsigned k = 1; k <= 20; ++k) {
    Scene scene;
    const cl_kernel kernel = scene.make_kernel();
    scene.driver.fail_execution("add", k, -9999);
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
    EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_LT(scene.status(event), 0) << "slice " << k;
    if (k == 1 || k == 20) {
      EXPECT_EQ(scene.status(event), -9999);
    }
    scene.cl.clReleaseEvent(event);
  }
}

TEST(Fault, SequentialSliceThatFailsFailsTheLaunch) {
  base::Settings settings = usual_settings();
  settings.launch = base::LaunchMode::sequential;
  Scene scene(settings);
  const cl_kernel kernel = scene.make_kernel();
  scene.driver.fail_execution("add", 3, -9999);
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  scene.driver.run_until_idle();
  EXPECT_LT(scene.status(event), 0);
  scene.cl.clReleaseEvent(event);
  const auto content = scene.read();
  EXPECT_EQ(content.front(), 1);
  EXPECT_EQ(content.back(), 0) << "nothing runs after the failure";
}

// Calls that are wrong get the driver's own answer.
TEST(Errors, AreThoseOfTheDriver) {
  using Case = std::function<cl_int(const Scene&, cl_kernel)>;
  const std::size_t global = 4096;
  const std::size_t local = 16;
  const std::size_t zero = 0;
  const std::size_t large = 4096;
  const std::size_t far = SIZE_MAX;
  const std::vector<Case> cases = {
      [&](const Scene& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(nullptr, k, 1, nullptr, &global, &local, 0, nullptr, nullptr);
      },
      [&](const Scene& s, cl_kernel) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, nullptr, 1, nullptr, &global, &local, 0, nullptr,
                                           nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 0, nullptr, &global, &local, 0, nullptr, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 4, nullptr, &global, &local, 0, nullptr, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, nullptr, &local, 0, nullptr, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &zero, &local, 0, nullptr, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &zero, 0, nullptr, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &large, 0, nullptr, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, &far, &global, &local, 0, nullptr, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &local, 1, nullptr, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        const cl_event none = nullptr;
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &local, 1, &none, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        const cl_event none = nullptr;
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &local, 0, &none, nullptr);
      },
      [&](const Scene& s, cl_kernel k) {
        cl_event event = nullptr;
        return s.cl.clEnqueueNDRangeKernel(s.queue, k, 1, nullptr, &global, &local, 1, nullptr, &event);
      },
  };
  using Mode = base::LaunchMode;
  const auto answer = [](const Case& call, unsigned vms, Mode mode, cl_command_queue_properties queue) {
    base::Settings settings;
    settings.vms = vms;
    settings.launch = mode;
    Scene scene(settings, usual_driver(), queue);
    const cl_int error = call(scene, scene.make_kernel());
    EXPECT_TRUE(scene.driver.executions().empty());
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

TEST(Errors, UnsetArgumentIsTheDriversError) {
  Scene scene;
  const cl_program program = scene.make_program(kSplittable);
  cl_kernel kernel = scene.cl.clCreateKernel(program, "add", nullptr);
  EXPECT_EQ(scene.launch(kernel), CL_INVALID_KERNEL_ARGS);
  scene.cl.clReleaseKernel(kernel);
}

}  // namespace
}  // namespace cleave
