// What the program sees when something goes wrong in the middle of a pipelined launch, and, for what is the same there,
// of a launch whose slices are on one queue.

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

constexpr const char* kSliceEnqueue = "clEnqueueNDRangeKernel";
constexpr const char* kMarkerCall = "clEnqueueMarkerWithWaitList";

struct Setting {
  cl_command_queue_properties properties;
  bool wants_event;
  bool lazy;
  bool pipelined = true;
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << (setting.properties == 0 ? "InOrder" : "OutOfOrder") << (setting.wants_event ? "WithEvent" : "")
       << (setting.lazy ? "Lazy" : "");
}

class SliceFault : public testing::TestWithParam<Setting> {
 protected:
  static base::Settings settings() {
    return GetParam().pipelined ? pipelined_settings() : default_settings();
  }
  static sim::Options driver() {
    if (!GetParam().pipelined) return default_driver();
    return GetParam().lazy ? lazy_flush_driver() : concurrent_driver();
  }

  // Launches, and waits for it as the program would.
  static cl_int launch(const InterposerFixture& fixture, cl_kernel kernel) {
    kit::Event event = fixture.cl.event();
    const cl_int error = fixture.launch(kernel, GetParam().wants_event ? event.out() : nullptr);
    if (error != CL_SUCCESS) {
      EXPECT_EQ(event, nullptr);
    }
    if (event == nullptr) return error;
    EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
    return error;
  }
};

class PipelinedFault : public SliceFault {};

TEST_P(SliceFault, RejectedSliceSendsTheRestInOneLaunch) {
  for (unsigned k = 2; k <= 20; ++k) {
    InterposerFixture fixture(settings(), driver(), GetParam().properties);
    make_slices_uneven(fixture);
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.fail(kSliceEnqueue, k, CL_OUT_OF_RESOURCES);
    ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS) << "slice " << k;
    EXPECT_EQ(fixture.driver.launches().size(), k) << "the slices before, and one for the rest";
    fixture.expect_each_item_ran(1);
    EXPECT_EQ(InterposerFixture::statistics().slices, k);
    ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().pipelined, GetParam().pipelined ? 2U : 0U);
    fixture.expect_each_item_ran(2);
  }
}

TEST_P(SliceFault, RejectedFirstSliceForwardsTheLaunch) {
  InterposerFixture fixture(settings(), driver(), GetParam().properties);
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.fail(kSliceEnqueue, 1, CL_OUT_OF_RESOURCES);
  ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
  ASSERT_EQ(fixture.driver.launches().size(), 1U);
  EXPECT_EQ(fixture.driver.launches()[0].global[0], InterposerFixture::kItems);
  fixture.expect_each_item_ran(1);
  fixture.driver.fail(kSliceEnqueue, 1, CL_OUT_OF_RESOURCES);
  fixture.driver.fail(kSliceEnqueue, 2, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(launch(fixture, kernel), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  fixture.expect_each_item_ran(1);
  EXPECT_EQ(InterposerFixture::statistics().launches, 1U) << "a call that failed is not counted";
}

TEST_P(PipelinedFault, RejectedLaunchLeavesNoWaitingCommand) {
  InterposerFixture fixture(pipelined_settings(),
                            kit::with(driver(), &sim::Options::hang_timeout, std::chrono::milliseconds(100)),
                            GetParam().properties);
  DriverOnlyEvent never(fixture);
  const cl_kernel kernel = fixture.make_kernel();
  for (unsigned k = 1; k <= 2; ++k) fixture.driver.fail(kSliceEnqueue, k, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(fixture.launch(kernel, nullptr, {never.get()}), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(fixture.driver.faults_left(), 0U);
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  EXPECT_FALSE(fixture.driver.hung());
  never.open();
}

TEST_P(SliceFault, RejectedRestReturnsOneErrorAndKeepsOrder) {
  for (unsigned k = 2; k <= 20; ++k) {
    InterposerFixture fixture(settings(), driver(), GetParam().properties);
    make_slices_uneven(fixture);
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.fail(kSliceEnqueue, k, CL_OUT_OF_RESOURCES);
    fixture.driver.fail(kSliceEnqueue, k + 1, CL_OUT_OF_HOST_MEMORY);
    EXPECT_EQ(launch(fixture, kernel), CL_OUT_OF_HOST_MEMORY);
    EXPECT_EQ(fixture.driver.count(kSliceEnqueue), k + 1) << "nothing is retried";
    EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
    for (const auto& slice : fixture.driver.launches()) EXPECT_EQ(slice.status, CL_COMPLETE) << "slice " << k;
    const auto before = fixture.read();
    ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
    EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
    const auto after = fixture.read();
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], before[i] + 1);
  }
}

TEST_P(PipelinedFault, RejectedSliceAndMarkersGiveTheRightResult) {
  for (unsigned k = 2; k <= 20; ++k) {
    for (unsigned markers = 1; markers <= 3; ++markers) {
      InterposerFixture fixture(pipelined_settings(), driver(), GetParam().properties);
      make_slices_uneven(fixture);
      const cl_kernel kernel = fixture.make_kernel();
      const unsigned gate = GetParam().properties == 0 ? 1 : 0;
      fixture.driver.fail(kSliceEnqueue, k, CL_OUT_OF_RESOURCES);
      for (unsigned i = 1; i <= markers; ++i) fixture.driver.fail(kMarkerCall, gate + i, CL_OUT_OF_RESOURCES);
      ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
      fixture.expect_each_item_ran(1);
      ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
      fixture.expect_each_item_ran(2);
    }
  }
}

TEST_P(PipelinedFault, RejectedFinalMarkerWaitsForHelpers) {
  if (GetParam().wants_event) return;  // no marker there
  InterposerFixture fixture(pipelined_settings(), driver(), GetParam().properties);
  make_slices_uneven(fixture);
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.fail(kMarkerCall, GetParam().properties == 0 ? 2 : 1, CL_OUT_OF_RESOURCES);
  ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.faults_left(), 0U);
  const std::uint64_t own = fixture.driver.id(fixture.queue);
  for (const auto& slice : fixture.driver.launches()) {
    if (slice.queue != own) {
      EXPECT_EQ(slice.status, CL_COMPLETE);
    }
  }
  fixture.expect_each_item_ran(1);
}

TEST_P(PipelinedFault, RejectedGateOrHelpersFallBackToQueued) {
  for (const char* function : {kMarkerCall, "clCreateCommandQueue"}) {
    if (function == kMarkerCall && GetParam().properties != 0) continue;  // no marker there
    InterposerFixture fixture(pipelined_settings(), driver(), GetParam().properties);
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.fail(function, 1, CL_OUT_OF_RESOURCES);
    ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
    EXPECT_EQ(queues_of(fixture.driver.launches()).size(), 1U);
    EXPECT_EQ(fixture.driver.launches().size(), 20U);
    EXPECT_EQ(queued_count(plan::SingleQueueReason::refused), 1U);
    fixture.expect_each_item_ran(1);
    ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().pipelined, function == kMarkerCall ? 1U : 0U)
        << "helpers are not asked for again";
    fixture.expect_each_item_ran(2);
  }
}

TEST_P(PipelinedFault, WorksWithFewerHelpers) {
  InterposerFixture fixture(pipelined_settings(), driver(), GetParam().properties);
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.fail("clCreateCommandQueue", 2, CL_OUT_OF_RESOURCES);
  ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
  EXPECT_EQ(queues_of(fixture.driver.launches()).size(), 2U);
  EXPECT_EQ(InterposerFixture::statistics().pipelined, 1U);
  fixture.expect_each_item_ran(1);
}

// An error at every call that a pipelined launch makes, one by one: the program sees a right answer, nothing
// leaks (the fixture checks), and the next launches work.
TEST_P(PipelinedFault, AnyDriverCallMayFail) {
  for (const char* function :
       {kSliceEnqueue, kMarkerCall, "clFlush", "clGetEventInfo", "clGetCommandQueueInfo", "clGetDeviceInfo",
        "clGetContextInfo", "clCreateCommandQueue", "clRetainEvent"}) {
    bool came_to_pass = true;
    for (unsigned nth = 1; came_to_pass; ++nth) {
      InterposerFixture fixture(pipelined_settings(), driver(), GetParam().properties);
      make_slices_uneven(fixture);
      const cl_kernel kernel = fixture.make_kernel();
      fixture.driver.fail(function, nth, CL_OUT_OF_RESOURCES);
      for (int launches = 1; launches <= 2; ++launches)
        ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS) << function << " " << nth;
      came_to_pass = fixture.driver.faults_left() == 0;
      if (!came_to_pass) break;  // there are no more such calls
      fixture.expect_each_item_ran(2);
      ASSERT_EQ(launch(fixture, kernel), CL_SUCCESS);
      fixture.expect_each_item_ran(3);
    }
  }
}

constexpr cl_command_queue_properties kOutOfOrder = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
const auto kPipelined = testing::Values(
    Setting{0, false, false}, Setting{0, true, false}, Setting{0, false, true}, Setting{0, true, true},
    Setting{kOutOfOrder, false, false}, Setting{kOutOfOrder, true, false}, Setting{kOutOfOrder, true, true});
INSTANTIATE_TEST_SUITE_P(Pipelined, PipelinedFault, kPipelined, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Pipelined, SliceFault, kPipelined, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(OnOneQueue, SliceFault,
                         testing::Values(Setting{0, false, false, false}, Setting{0, true, false, false},
                                         Setting{kOutOfOrder, false, false, false},
                                         Setting{kOutOfOrder, true, false, false}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace cleave
