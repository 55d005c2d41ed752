// Pipelined launches: how their slices reach the driver, and that other commands come before or after all of
// them as they would natively.

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

using Pipelined = QueueOrderTest<pipelined_settings, concurrent_driver>;
class ConfiguredPipelined : public testing::TestWithParam<cl_command_queue_properties> {};
using PipelinedInOrder = LaunchTest<pipelined_settings, concurrent_driver>;
using PipelinedOutOfOrder =
    LaunchTest<pipelined_settings, concurrent_driver, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE>;

TEST_P(Pipelined, SlicesAreDealtOverQueueAndHelpers) {
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  const auto slices = driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  const std::uint64_t own = driver.id(queue);
  EXPECT_EQ(queues_of(slices).size(), 4U);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    EXPECT_EQ(slices[i].queue == own, i % 4 == 0);
    if (i >= 4) {
      EXPECT_EQ(slices[i].queue, slices[i - 4].queue);
    }
  }
  expect_each_item_ran(1);
  EXPECT_EQ(statistics().pipelined, 1U);
  EXPECT_EQ(statistics().slices, 20U);
  const auto ran = driver.executions();
  std::size_t together = 0;
  for (std::size_t i = 1; i < ran.size(); ++i) together += ran[i].started < ran[i - 1].ended ? 1 : 0;
  EXPECT_GT(together, 10U) << "slices overlap";
}

// Others get to the driver while a long launch is enqueued, but the device never runs dry for it.
TEST_P(ConfiguredPipelined, LongLaunchThrottlesItsEnqueues) {
  base::Settings settings = pipelined_settings();
  settings.policy = {base::SplitPolicy::Kind::fixed, 200};
  for (const bool wants_event : {false, true}) {
    const auto time_in_the_call = [&](base::Nanoseconds slice) {
      InterposerFixture fixture(settings, concurrent_driver(), GetParam());
      fixture.driver.cost("add", [slice](const sim::Launch&) { return slice; });
      const cl_kernel kernel = fixture.make_kernel();
      cl_event event = nullptr;
      const base::Nanoseconds before = fixture.driver.clock().now();
      EXPECT_EQ(fixture.launch(kernel, wants_event ? &event : nullptr), CL_SUCCESS);
      const base::Nanoseconds taken = fixture.driver.clock().now() - before;
      EXPECT_EQ(InterposerFixture::statistics().slices, 200U);
      fixture.expect_each_item_ran(1);
      if (event != nullptr) fixture.cl.clReleaseEvent(event);
      return taken;
    };
    EXPECT_EQ(time_in_the_call(100us) - time_in_the_call(0us), 4 * 60us)
        << "after slices 64, 96, 128 and 160";
  }
}

TEST_P(Pipelined, ReturnedEventIsOnTheCallersQueueAndEndsLast) {
  make_slices_uneven(*this);
  for (int i = 0; i < 3; ++i) {
    driver.forget();
    const kit::Event event = launch_event(kernel);
    cl.wait({event});
    auto slices = driver.launches();
    ASSERT_EQ(slices.size(), 20U);
    const sim::Launch last = slices.back();
    EXPECT_EQ(last.queue, driver.id(queue));
    slices.pop_back();
    for (const auto& slice : slices) EXPECT_LE(slice.ended, last.started);
  }
  expect_each_item_ran(3);
}

TEST_P(Pipelined, FinishWaitsForAllSlicesWithoutAnEvent) {
  make_slices_uneven(*this);
  for (int i = 0; i < 3; ++i) {
    driver.forget();
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
    cl.clFinish(queue);
    const auto slices = driver.launches();
    ASSERT_EQ(slices.size(), 20U);
    for (const auto& slice : slices) EXPECT_EQ(slice.status, CL_COMPLETE);
  }
}

// A command before and one after, each of which would show at once if it overlapped a slice.
TEST_F(PipelinedInOrder, CommandsStayOrderedAroundAllSlices) {
  make_slices_uneven(*this);
  const cl_int ten = 10;
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(cl.fill(queue, buffer, ten, kItems), CL_SUCCESS);
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
    ASSERT_EQ(read(), std::vector<cl_int>(kItems, 12)) << "read with nothing else to wait for";
  }
  EXPECT_EQ(statistics().pipelined, 10U);
}

TEST_F(PipelinedInOrder, InOrderLaunchesDoNotOverlap) {
  make_slices_uneven(*this);
  const cl_program program = make_program(kSplittable);
  const cl_kernel first = make_kernel(program, "add");
  const cl_kernel second = make_kernel(program, "sum");
  ASSERT_EQ(launch(first), CL_SUCCESS);
  ASSERT_EQ(launch(second), CL_SUCCESS);
  expect_each_item_ran(2);
  base::Nanoseconds end{0};
  base::Nanoseconds begin = 1h;
  for (const auto& slice : driver.executions()) {
    if (slice.kernel == "add") end = std::max(end, slice.ended);
    if (slice.kernel == "sum") begin = std::min(begin, slice.started);
  }
  EXPECT_LE(end, begin);
}

TEST_P(ConfiguredPipelined, EverySliceWaitsForTheWaitList) {
  using Case = std::pair<bool, std::size_t>;
  for (const auto& [wants_event, length] : {Case(false, 1), Case(true, 1), Case(false, 40), Case(true, 40)}) {
    InterposerFixture fixture(pipelined_settings(), concurrent_driver(), GetParam());
    const cl_kernel kernel = fixture.make_kernel();
    DriverOnlyEvent gate(fixture);
    DriverOnlyEvent done(fixture);
    done.open();
    std::vector<cl_event> list(length, done.get());
    list.back() = gate.get();
    cl_event event = nullptr;
    ASSERT_EQ(fixture.launch(kernel, wants_event ? &event : nullptr, list), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().pipelined, 1U);
    fixture.cl.clFlush(fixture.queue);
    fixture.driver.run_until_idle();
    EXPECT_TRUE(fixture.driver.executions().empty());
    gate.open();
    fixture.expect_each_item_ran(1);
    if (wants_event) fixture.cl.clReleaseEvent(event);
  }
}

TEST_P(ConfiguredPipelined, FailedWaitListStopsEverySlice) {
  for (const bool wants_event : {false, true}) {
    InterposerFixture fixture(pipelined_settings(), concurrent_driver(), GetParam());
    const cl_kernel kernel = fixture.make_kernel();
    DriverOnlyEvent gate(fixture);
    cl_event event = nullptr;
    ASSERT_EQ(fixture.launch(kernel, wants_event ? &event : nullptr, {gate.get()}), CL_SUCCESS);
    gate.open(-5);
    fixture.driver.run_until_idle();
    if (wants_event) {
      EXPECT_EQ(fixture.status(event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
      fixture.cl.clReleaseEvent(event);
    }
    EXPECT_EQ(fixture.read(), std::vector<cl_int>(InterposerFixture::kItems, 0)) << "no slice may run";
    EXPECT_TRUE(fixture.driver.executions().empty());
  }
}

TEST_P(Pipelined, PendingUserEventUsesOneQueue) {
  cl_event gate = user_event();
  ASSERT_EQ(launch(kernel, nullptr, {gate}), CL_SUCCESS);
  EXPECT_EQ(queues_of(driver.launches()).size(), 1U);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::pending), 1U);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(statistics().pipelined, 1U);
  expect_each_item_ran(2);
}

TEST_P(Pipelined, CommunicatingKernelsAreNotPipelined) {
  const cl_kernel uses_atomics = make_kernel(kUsesAtomics, "uses_atomics");
  const std::size_t local = 8;  // 512 groups, more than the device can hold
  ASSERT_EQ(cl.launch(queue, uses_atomics, {kItems, local}), CL_SUCCESS);
  expect_each_item_ran(1);
  const auto slices = driver.executions();
  ASSERT_EQ(slices.size(), 20U);
  EXPECT_EQ(queues_of(slices).size(), 1U);
  for (std::size_t i = 1; i < slices.size(); ++i) {
    EXPECT_GT(slices[i].offset[0], slices[i - 1].offset[0]);
    EXPECT_GE(slices[i].started, slices[i - 1].ended);
  }
  EXPECT_EQ(queued_count(plan::SingleQueueReason::communicates), 1U);
}

TEST_P(Pipelined, CapturesArgumentsKernelAndBufferAtEnqueue) {
  kit::Program program = cl.build(context, kSplittable);
  cl_kernel released = with_arguments(cl.clCreateKernel(program, "add", nullptr));
  DriverOnlyEvent gate(*this);
  ASSERT_EQ(launch(released, nullptr, {gate.get()}), CL_SUCCESS);
  const cl_int other = 1000;
  cl.set_argument(released, 1, other);
  cl.clReleaseKernel(released);
  program.reset();
  gate.open();
  expect_each_item_ran(1);
}

TEST_P(ConfiguredPipelined, TwoDimensionalBoxesCoverEverythingOnce) {
  for (const std::size_t slices : {17U, 50U, 200U}) {
    InterposerFixture fixture(
        kit::with(pipelined_settings(), &base::Settings::policy, {base::SplitPolicy::Kind::fixed, slices},
                  &base::Settings::min_items, 0),
        concurrent_driver(), GetParam());
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.kernel("add", [](sim::Execution& e) {
      const auto data = e.buffer<cl_int>(0);
      e.for_each_item([&](const sim::Item& item) { ++data[item.global_id[1] * 64 + item.global_id[0]]; });
    });
    ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {{64, 64}, {4, 4}}), CL_SUCCESS);
    EXPECT_EQ(fixture.driver.launches().size(), slices);
    fixture.expect_each_item_ran(1);
  }
}

TEST_P(Pipelined, InstrumentedKernelsSeeTheWholeLaunch) {
  driver.kernel("reads_group_id", [](sim::Execution& e) {
    const auto data = e.buffer<cl_int>(0);
    e.for_each_item([&](const sim::Item& item) {
      const PreludeView seen(e, item);
      data[item.global_id[0]] += static_cast<cl_int>(seen.group_id(0) + 1000 * seen.num_groups(0));
    });
  });
  const cl_kernel reads_group_id = make_kernel(kUsesGroupId, "reads_group_id");
  ASSERT_EQ(launch(reads_group_id), CL_SUCCESS);
  EXPECT_EQ(statistics().pipelined, 1U);
  cl.clFinish(queue);
  const auto content = read();
  for (std::size_t i = 0; i < content.size(); ++i)
    ASSERT_EQ(content[i], static_cast<cl_int>(i / 16 + 1000 * (kItems / 16)));
}

TEST_P(Pipelined, ConcurrentLaunchesOnOneQueue) {
  make_slices_uneven(*this);
  const std::vector<cl_kernel> kernels = make_kernels(4);
  kit::on_threads(4, [&](std::size_t thread) {
    for (int i = 0; i < 10; ++i) {
      kit::Event event = cl.event();
      EXPECT_EQ(launch(kernels[thread], i % 2 == 0 ? event.out() : nullptr), CL_SUCCESS);
      if (event) {
        EXPECT_EQ(cl.wait({event}), CL_SUCCESS);
        EXPECT_EQ(event.reset(), CL_SUCCESS);
      }
    }
  });
  expect_each_item_ran(40);
}

INSTANTIATE_TEST_SUITE_P(Queues, ConfiguredPipelined, testing::ValuesIn(kQueueOrders), queue_order_name);
INSTANTIATE_TEST_SUITE_P(Queues, Pipelined, testing::ValuesIn(kQueueOrders), queue_order_name);

TEST_F(PipelinedInOrder, RequestsNoUnneededEvents) {
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  std::size_t events = 0;
  for (const auto& slice : driver.launches()) events += slice.wants_event() ? 1 : 0;
  EXPECT_EQ(events, 3U) << "the last on each helper";
}

TEST_F(PipelinedOutOfOrder, AddsNoDependencies) {
  const cl_program program = make_program(kSplittable);
  const cl_kernel held = make_kernel(program, "add");
  const cl_kernel free = make_kernel(program, "sum");
  DriverOnlyEvent gate(*this);
  ASSERT_EQ(launch(held, nullptr, {gate.get()}), CL_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    const kit::Event event = launch_event(free);
    EXPECT_EQ(cl.wait({event}), CL_SUCCESS) << "held up by a launch that it has nothing to do with";
  }
  gate.open();
  expect_each_item_ran(4);
}

TEST_F(PipelinedOutOfOrder, BarriersApplyToAllSlices) {
  make_slices_uneven(*this);
  const cl_int ten = 10;
  const auto fill = [&] { return cl.fill(queue, buffer, ten, kItems); };
  const auto barrier = [&] { ASSERT_EQ(cl.barrier(queue), CL_SUCCESS); };
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(fill(), CL_SUCCESS);
    barrier();
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
    barrier();
    ASSERT_EQ(read(), std::vector<cl_int>(kItems, 11));
    barrier();
  }
  EXPECT_EQ(statistics().pipelined, 3U);
}

struct Kind {
  const char* name;
  base::LaunchMode mode;
  cl_device_type type;
  const char* platform;
  bool pipelined;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class AutomaticMode : public testing::TestWithParam<Kind> {};

TEST_P(AutomaticMode, PipelinesOnCapableGpus) {
  InterposerFixture fixture(kit::with(pipelined_settings(), &base::Settings::launch, GetParam().mode),
                            kit::with(concurrent_driver(), &sim::Options::device_type, GetParam().type,
                                      &sim::Options::platform_name, GetParam().platform));
  const cl_kernel kernel = fixture.make_kernel();
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  fixture.expect_each_item_ran(1);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
  EXPECT_EQ(InterposerFixture::statistics().pipelined, GetParam().pipelined ? 1U : 0U);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::device), GetParam().pipelined ? 0U : 1U);
}

constexpr const char* kPocl = "Portable Computing Language";
INSTANTIATE_TEST_SUITE_P(
    Devices, AutomaticMode,
    testing::Values(Kind{"Gpu", base::LaunchMode::automatic, CL_DEVICE_TYPE_GPU, "Some platform", true},
                    Kind{"Cpu", base::LaunchMode::automatic, CL_DEVICE_TYPE_CPU, "Some platform", false},
                    Kind{"CpuByName", base::LaunchMode::pipelined, CL_DEVICE_TYPE_CPU, "Some platform", true},
                    Kind{"PoclsGpu", base::LaunchMode::automatic, CL_DEVICE_TYPE_GPU, kPocl, false},
                    Kind{"PoclByName", base::LaunchMode::pipelined, CL_DEVICE_TYPE_CPU, kPocl, true}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace cleave
