// What the program sees when something goes wrong in the middle of a pipelined launch.

#include "tests/sim/split/pipelined.h"

namespace cleave {
namespace {

constexpr const char* kEnqueue = "clEnqueueNDRangeKernel";
constexpr const char* kMarkerCall = "clEnqueueMarkerWithWaitList";

struct Setting {
  cl_command_queue_properties properties;
  bool wants_event;
  bool lazy;
};

class PipelinedFault : public testing::TestWithParam<Setting> {
 protected:
  static sim::Options driver() { return GetParam().lazy ? lazy_driver() : wide_driver(); }

  // Launches, and waits for it as the program would.
  static cl_int launch(const Scene& scene, cl_kernel kernel) {
    cl_event event = nullptr;
    const cl_int error = scene.launch(kernel, GetParam().wants_event ? &event : nullptr);
    if (error != CL_SUCCESS) {
      EXPECT_EQ(event, nullptr);
    }
    if (event == nullptr) return error;
    EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
    scene.cl.clReleaseEvent(event);
    return error;
  }
};

TEST_P(PipelinedFault, SliceKRefused_RestGoesInOneLaunch) {
  for (unsigned k = 2; k <= 20; ++k) {
    Scene scene(pipelined_settings(), driver(), GetParam().properties);
    make_slices_uneven(scene);
    const cl_kernel kernel = scene.make_kernel();
    scene.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
    ASSERT_EQ(launch(scene, kernel), CL_SUCCESS) << "slice " << k;
    EXPECT_EQ(scene.driver.launches().size(), k) << "the slices before, and one for the rest";
    scene.expect_each_item_ran(1);
    EXPECT_EQ(Scene::tally().slices, k);
    ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().pipelined, 2U);
    scene.expect_each_item_ran(2);
  }
}

TEST_P(PipelinedFault, FirstSliceRefused_TheWholeLaunchHasTheDriversAnswer) {
  Scene scene(pipelined_settings(), driver(), GetParam().properties);
  const cl_kernel kernel = scene.make_kernel();
  scene.driver.fail(kEnqueue, 1, CL_OUT_OF_RESOURCES);
  ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
  ASSERT_EQ(scene.driver.launches().size(), 1U);
  scene.driver.fail(kEnqueue, 1, CL_OUT_OF_RESOURCES);
  scene.driver.fail(kEnqueue, 2, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(launch(scene, kernel), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  scene.expect_each_item_ran(1);
  EXPECT_EQ(Scene::tally().launches, 1U);
}

TEST_P(PipelinedFault, AllRefused_NothingStaysThatWaitsForTheList) {
  sim::Options options = driver();
  options.hang_timeout = std::chrono::milliseconds(100);
  Scene scene(pipelined_settings(), options, GetParam().properties);
  HiddenGate never(scene);
  const cl_kernel kernel = scene.make_kernel();
  for (unsigned k = 1; k <= 2; ++k) scene.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(scene.launch(kernel, nullptr, {never.get()}), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(scene.driver.faults_left(), 0U);
  EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
  EXPECT_FALSE(scene.driver.hung());
  never.open();
}

TEST_P(PipelinedFault, RestRefusedToo_OneErrorAndWhatComesLaterStillComesLater) {
  for (unsigned k = 2; k <= 20; ++k) {
    Scene scene(pipelined_settings(), driver(), GetParam().properties);
    make_slices_uneven(scene);
    const cl_kernel kernel = scene.make_kernel();
    scene.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
    scene.driver.fail(kEnqueue, k + 1, CL_OUT_OF_HOST_MEMORY);
    EXPECT_EQ(launch(scene, kernel), CL_OUT_OF_HOST_MEMORY);
    EXPECT_EQ(scene.driver.count(kEnqueue), k + 1) << "nothing is retried";
    EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
    for (const auto& slice : scene.driver.launches()) EXPECT_EQ(slice.status, CL_COMPLETE) << "slice " << k;
    const auto before = scene.read();
    ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
    EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
    const auto after = scene.read();
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], before[i] + 1);
  }
}

TEST_P(PipelinedFault, SliceAndMarkersRefused_TheAnswerIsRightAllTheSame) {
  for (unsigned k = 2; k <= 20; ++k) {
    for (unsigned markers = 1; markers <= 3; ++markers) {
      Scene scene(pipelined_settings(), driver(), GetParam().properties);
      make_slices_uneven(scene);
      const cl_kernel kernel = scene.make_kernel();
      const unsigned gate = GetParam().properties == 0 ? 1 : 0;
      scene.driver.fail(kEnqueue, k, CL_OUT_OF_RESOURCES);
      for (unsigned i = 1; i <= markers; ++i) scene.driver.fail(kMarkerCall, gate + i, CL_OUT_OF_RESOURCES);
      ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
      scene.expect_each_item_ran(1);
      ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
      scene.expect_each_item_ran(2);
    }
  }
}

TEST_P(PipelinedFault, MarkerAtTheEndRefused_TheHelpersAreWaitedFor) {
  if (GetParam().wants_event) return;  // no marker there
  Scene scene(pipelined_settings(), driver(), GetParam().properties);
  make_slices_uneven(scene);
  const cl_kernel kernel = scene.make_kernel();
  scene.driver.fail(kMarkerCall, GetParam().properties == 0 ? 2 : 1, CL_OUT_OF_RESOURCES);
  ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
  EXPECT_EQ(scene.driver.faults_left(), 0U);
  const std::uint64_t own = scene.driver.id(scene.queue);
  for (const auto& slice : scene.driver.launches()) {
    if (slice.queue != own) {
      EXPECT_EQ(slice.status, CL_COMPLETE);
    }
  }
  scene.expect_each_item_ran(1);
}

TEST_P(PipelinedFault, GateOrHelpersRefused_TheLaunchIsQueued) {
  for (const char* function : {kMarkerCall, "clCreateCommandQueue"}) {
    if (function == kMarkerCall && GetParam().properties != 0) continue;  // no marker there
    Scene scene(pipelined_settings(), driver(), GetParam().properties);
    const cl_kernel kernel = scene.make_kernel();
    scene.driver.fail(function, 1, CL_OUT_OF_RESOURCES);
    ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
    EXPECT_EQ(queues_of(scene.driver.launches()).size(), 1U);
    EXPECT_EQ(scene.driver.launches().size(), 20U);
    EXPECT_EQ(queued_for(plan::Queued::refused), 1U);
    scene.expect_each_item_ran(1);
    ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().pipelined, function == kMarkerCall ? 1U : 0U)
        << "helpers are not asked for again";
    scene.expect_each_item_ran(2);
  }
}

TEST_P(PipelinedFault, FewerHelpersThanWantedWillDo) {
  Scene scene(pipelined_settings(), driver(), GetParam().properties);
  const cl_kernel kernel = scene.make_kernel();
  scene.driver.fail("clCreateCommandQueue", 2, CL_OUT_OF_RESOURCES);
  ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
  EXPECT_EQ(queues_of(scene.driver.launches()).size(), 2U);
  EXPECT_EQ(Scene::tally().pipelined, 1U);
  scene.expect_each_item_ran(1);
}

// An error at every call that a pipelined launch makes, one by one: the program sees a right answer, nothing
// leaks (the scene looks), and the next launches work.
TEST_P(PipelinedFault, EveryCallOfALaunchMayFail) {
  for (const char* function :
       {kEnqueue, kMarkerCall, "clFlush", "clGetEventInfo", "clGetCommandQueueInfo", "clGetDeviceInfo",
        "clGetContextInfo", "clCreateCommandQueue", "clRetainEvent"}) {
    bool came_to_pass = true;
    for (unsigned nth = 1; came_to_pass; ++nth) {
      Scene scene(pipelined_settings(), driver(), GetParam().properties);
      make_slices_uneven(scene);
      const cl_kernel kernel = scene.make_kernel();
      scene.driver.fail(function, nth, CL_OUT_OF_RESOURCES);
      for (int launches = 1; launches <= 2; ++launches)
        ASSERT_EQ(launch(scene, kernel), CL_SUCCESS) << function << " " << nth;
      came_to_pass = scene.driver.faults_left() == 0;
      if (!came_to_pass) break;  // there are no more such calls
      scene.expect_each_item_ran(2);
      ASSERT_EQ(launch(scene, kernel), CL_SUCCESS);
      scene.expect_each_item_ran(3);
    }
  }
}

constexpr cl_command_queue_properties kOutOfOrder = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
INSTANTIATE_TEST_SUITE_P(Settings, PipelinedFault,
                         testing::Values(Setting{0, false, false}, Setting{0, true, false},
                                         Setting{0, false, true}, Setting{0, true, true},
                                         Setting{kOutOfOrder, false, false},
                                         Setting{kOutOfOrder, true, false}, Setting{kOutOfOrder, true, true}),
                         [](const auto& info) {
                           return std::string(info.param.properties == 0 ? "InOrder" : "OutOfOrder") +
                                  (info.param.wants_event ? "WithEvent" : "") +
                                  (info.param.lazy ? "Lazy" : "");
                         });

}  // namespace
}  // namespace cleave
