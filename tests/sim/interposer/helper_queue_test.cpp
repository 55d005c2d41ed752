// Helper queues: who owns them, how long they live, and that they make no launch wait for an unrelated one.

#include <chrono>
#include <thread>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

using HelperQueues = LaunchTest<pipelined_settings, concurrent_driver>;

TEST_F(HelperQueues, AreCreatedOnFirstUseAndReused) {
  EXPECT_EQ(driver.live(sim::Kind::queue), 1U);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(driver.live(sim::Kind::queue), 4U);
  EXPECT_EQ(statistics().pipelined, 10U) << "also while the launch before still runs";
  expect_each_item_ran(10);
}

TEST(ConfiguredHelperQueues, AreNotCreatedForUnsplitLaunches) {
  InterposerFixture fixture(kit::with(pipelined_settings(), &base::Settings::vms, 1), concurrent_driver());
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U);
}

TEST_F(HelperQueues, AreSharedAndReleasedWithTheLastQueue) {
  std::vector<cl_command_queue> queues(2);
  for (cl_command_queue& each : queues) each = cl.queue(context, device).detach();
  for (const cl_command_queue each : queues) {
    ASSERT_EQ(launch_on(each, kernel), CL_SUCCESS);
    cl.clFinish(each);
  }
  EXPECT_EQ(statistics().pipelined, 2U);
  EXPECT_EQ(driver.live(sim::Kind::queue), 3U + 3U);
  cl.clRetainCommandQueue(queues[0]);
  cl.clReleaseCommandQueue(queues[0]);
  cl.clReleaseCommandQueue(queues[1]);
  EXPECT_EQ(driver.live(sim::Kind::queue), 2U + 3U);
  cl.clReleaseCommandQueue(queues[0]);
  EXPECT_EQ(driver.live(sim::Kind::queue), 1U) << "that which never needed helpers";
}

TEST_F(HelperQueues, LiveUntilTheirSlicesEnd) {
  kit::Queue released = cl.queue(context, device);
  DriverOnlyEvent gate(*this);
  ASSERT_EQ(launch_on(released, kernel, nullptr, {gate.get()}), CL_SUCCESS);
  ASSERT_EQ(released.reset(), CL_SUCCESS);
  gate.open();
  driver.run_until_idle();
  expect_each_item_ran(1);
  EXPECT_EQ(driver.live(sim::Kind::queue), 1U);
}

TEST(ConfiguredHelperQueues, AreReleasedWithAnUnflushedQueue) {
  InterposerFixture fixture(pipelined_settings(), lazy_flush_driver());
  const cl_kernel kernel = fixture.make_kernel();
  kit::Queue queue = fixture.cl.queue(fixture.context, fixture.device);
  ASSERT_EQ(fixture.launch_on(queue, kernel), CL_SUCCESS);
  ASSERT_EQ(queue.reset(), CL_SUCCESS);
  fixture.driver.run_until_idle();
  fixture.expect_each_item_ran(1);
}

// A second context, with everything in it, that is released before the fixture.
class SecondContext {
 public:
  explicit SecondContext(InterposerFixture& fixture) : fixture_(fixture) {
    context = fixture.cl.context(fixture.device).detach();
    queue = fixture.cl.queue(context, fixture.device).detach();
    program_ = fixture.cl.build(context, kSplittable);
    buffer_ = fixture.cl.buffer(context, InterposerFixture::kItems * sizeof(cl_int));
    kernel = fixture.cl.kernel(program_, "add", buffer_, cl_int{1});
  }
  void release_all_but_queue_and_context() {
    kernel.reset();
    program_.reset();
    buffer_.reset();
  }
  cl_uint references() const { return fixture_.cl.info<cl_uint>(context, CL_CONTEXT_REFERENCE_COUNT); }

  cl_context context;
  cl_command_queue queue;
  kit::Kernel kernel;

 private:
  InterposerFixture& fixture_;
  kit::Program program_;
  kit::Buffer buffer_;
};

void CL_CALLBACK count_call(cl_context, void* calls) { ++*static_cast<int*>(calls); }

TEST(ConfiguredHelperQueues, DoNotKeepAContextAlive) {
  for (const bool queue_first : {true, false}) {
    InterposerFixture fixture(pipelined_settings(), concurrent_driver());
    SecondContext apart(fixture);
    int destroyed = 0;
    fixture.cl.clSetContextDestructorCallback(apart.context, count_call, &destroyed);
    ASSERT_EQ(fixture.launch_on(apart.queue, apart.kernel), CL_SUCCESS);
    EXPECT_EQ(InterposerFixture::statistics().pipelined, 1U);
    fixture.cl.clFinish(apart.queue);
    apart.release_all_but_queue_and_context();
    if (queue_first) fixture.cl.clReleaseCommandQueue(apart.queue);
    EXPECT_EQ(fixture.cl.clReleaseContext(apart.context), CL_SUCCESS);
    if (!queue_first) {
      EXPECT_EQ(destroyed, 0);
      fixture.cl.clReleaseCommandQueue(apart.queue);
    }
    EXPECT_EQ(destroyed, 1);
  }
}

TEST(ConfiguredHelperQueues, AreHiddenFromTheContextsReferenceCount) {
  for (const bool counts : {false, true}) {
    InterposerFixture fixture(pipelined_settings(),
                              kit::with(concurrent_driver(), &sim::Options::context_counts_queues, counts));
    SecondContext apart(fixture);
    const cl_uint before = apart.references();
    EXPECT_EQ(before, counts ? 2U : 1U);
    ASSERT_EQ(fixture.launch_on(apart.queue, apart.kernel), CL_SUCCESS);
    EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U + 4U);
    EXPECT_EQ(apart.references(), before);
    fixture.cl.clRetainContext(apart.context);
    EXPECT_EQ(apart.references(), before + 1);
    fixture.cl.clReleaseContext(apart.context);
    fixture.cl.clFinish(apart.queue);
    apart.release_all_but_queue_and_context();
    fixture.cl.clReleaseCommandQueue(apart.queue);
    EXPECT_EQ(apart.references(), 1U);
    fixture.cl.clReleaseContext(apart.context);
  }
}

// Helpers are created while another thread queries them (ThreadSanitizer watches).
TEST(ConfiguredHelperQueues, ContextReferenceCountMayBeQueriedConcurrently) {
  InterposerFixture fixture(pipelined_settings(),
                            kit::with(concurrent_driver(), &sim::Options::context_counts_queues, true));
  const cl_kernel kernel = fixture.make_kernel();
  {
    const std::jthread counter([&fixture](const std::stop_token& stop) {
      cl_uint count = 0;
      while (!stop.stop_requested())
        fixture.cl.clGetContextInfo(fixture.context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count,
                                    nullptr);
    });
    for (int i = 0; i < 20; ++i) {
      kit::Queue queue = fixture.cl.queue(fixture.context, fixture.device);
      ASSERT_EQ(fixture.launch_on(queue, kernel), CL_SUCCESS);
      ASSERT_EQ(fixture.cl.clFinish(queue), CL_SUCCESS);
      ASSERT_EQ(queue.reset(), CL_SUCCESS);
    }
  }
  fixture.expect_each_item_ran(20);
}

// To make a queue within a callback is undefined; to enqueue is not.
TEST(ConfiguredHelperQueues, AreNotCreatedInCallbacks) {
  for (const auto wait : {base::WaitMode::native, base::WaitMode::automatic, base::WaitMode::sleeping}) {
    InterposerFixture fixture(kit::with(pipelined_settings(), &base::Settings::wait, wait),
                              concurrent_driver());
    const cl_kernel kernel = fixture.make_kernel();
    const auto launch_in_callback = [&] {
      const kit::Event before = fixture.cl.marker_event(fixture.queue);
      cl_int error = 1;
      const kit::Setup::EventAction relaunch = [&](cl_event, cl_int) { error = fixture.launch(kernel); };
      fixture.at_status(before, CL_COMPLETE, relaunch);
      EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
      fixture.driver.run_until_idle();
      EXPECT_EQ(error, CL_SUCCESS);
    };
    launch_in_callback();
    EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U);
    EXPECT_EQ(queued_count(plan::SingleQueueReason::busy), 1U);
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    launch_in_callback();
    EXPECT_EQ(InterposerFixture::statistics().pipelined, 2U) << "with the helpers that exist at that time";
    EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 4U);
    fixture.expect_each_item_ran(3);
  }
}

TEST(ConfiguredHelperQueues, CopyThePropertiesOfTheCallersQueue) {
  constexpr cl_queue_properties kPriority = 0x1096;
  constexpr cl_queue_properties kThrottle = 0x1097;
  InterposerFixture fixture(pipelined_settings(),
                            kit::with(concurrent_driver(), &sim::Options::queue_hints, true));
  const cl_kernel kernel = fixture.make_kernel();
  const kit::Queue queue =
      fixture.cl.queue(fixture.context, fixture.device,
                       {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, kThrottle, 2, kPriority, 4, 0});
  ASSERT_NE(queue, nullptr);
  fixture.driver.forget();
  ASSERT_EQ(fixture.launch_on(queue, kernel), CL_SUCCESS);
  std::size_t made = 0;
  for (const sim::Call& call : fixture.driver.log()) {
    if (call.function != "clCreateCommandQueueWithProperties") continue;
    ++made;
    for (const char* property : {"4243=2", "4246=4", "4247=2"})
      EXPECT_NE(call.arguments.find(property), std::string::npos) << call.arguments;
  }
  EXPECT_EQ(made, 3U);
  ASSERT_EQ(fixture.launch_on(fixture.queue, kernel), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.count("clCreateCommandQueue"), 2U)
      << "as many as may be, with properties of their own";
}

TEST_F(HelperQueues, QueuesWithUnknownPropertiesGetNone) {
  const kit::Queue sized = cl.queue(context, device, {CL_QUEUE_PROPERTIES, 0, CL_QUEUE_SIZE, 4096, 0});
  ASSERT_NE(sized, nullptr);
  ASSERT_EQ(launch_on(sized, kernel), CL_SUCCESS);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::queue), 1U);
  cl.clFinish(sized);
  expect_each_item_ran(1);
}

TEST(ConfiguredHelperQueues, AreNotUsedOnOpenCl11Drivers) {
  InterposerFixture fixture(
      pipelined_settings(),
      kit::with(concurrent_driver(), &sim::Options::platform_version, "OpenCL 1.1 sim"));
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::queue), 1U);
}

TEST_F(HelperQueues, BlockedHelpersAreNotShared) {
  const cl_program program = make_program(kSplittable);
  const cl_kernel held = make_kernel(program, "add");
  const cl_kernel free = make_kernel(program, "sum");
  std::vector<cl_command_queue> queues(3);
  for (cl_command_queue& each : queues) each = make_queue();
  DriverOnlyEvent gate(*this);
  ASSERT_EQ(launch_on(queues[0], held, nullptr, {gate.get()}), CL_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(launch_on(queues[1], free), CL_SUCCESS) << "gets the two that may still be made";
    EXPECT_EQ(cl.clFinish(queues[1]), CL_SUCCESS);
  }
  DriverOnlyEvent second(*this);
  ASSERT_EQ(launch_on(queues[1], held, nullptr, {second.get()}), CL_SUCCESS);
  ASSERT_EQ(launch_on(queues[2], free), CL_SUCCESS);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::busy), 1U);
  EXPECT_EQ(cl.clFinish(queues[2]), CL_SUCCESS);
  EXPECT_EQ(driver.live(sim::Kind::queue), 4U + 5U);
  gate.open();
  second.open();
  cl.clFinish(queues[0]);
  cl.clFinish(queues[1]);
  ASSERT_EQ(launch_on(queues[2], free), CL_SUCCESS);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::busy), 1U) << "idle again";
  cl.clFinish(queues[2]);
  expect_each_item_ran(6);
}

// On a driver that starts nothing before it is asked to, a program may flush as late as it likes.
TEST(ConfiguredHelperQueues, LateFlushCausesNoDeadlock) {
  for (const auto properties : kQueueOrders) {
    InterposerFixture fixture(pipelined_settings(), lazy_flush_driver(), properties);
    const cl_program program = fixture.make_program(kSplittable);
    const cl_kernel first = fixture.make_kernel(program, "add");
    const cl_kernel second = fixture.make_kernel(program, "sum");
    cl_command_queue upstream = fixture.make_queue();
    cl_command_queue other = fixture.make_queue(properties);
    cl_event late = nullptr;
    ASSERT_EQ(fixture.cl.marker(upstream, {}, &late), CL_SUCCESS);
    cl_event event = nullptr;
    ASSERT_EQ(fixture.launch(first, &event, {late}), CL_SUCCESS);
    ASSERT_EQ(fixture.launch_on(other, second), CL_SUCCESS);
    ASSERT_EQ(fixture.cl.clFinish(other), CL_SUCCESS) << "what waits for the late flush is elsewhere";
    ASSERT_EQ(fixture.cl.clFlush(fixture.queue), CL_SUCCESS);
    ASSERT_EQ(fixture.cl.clFlush(upstream), CL_SUCCESS);
    for (int i = 0; i < 10'000 && fixture.status(event) != CL_COMPLETE; ++i)
      fixture.driver.clock().sleep_for(1us);
    EXPECT_EQ(fixture.status(event), CL_COMPLETE) << "one flush of the program's queue is enough";
    fixture.cl.clReleaseEvent(late);
    fixture.cl.clReleaseEvent(event);
    fixture.expect_each_item_ran(2);
  }
}

TEST_F(HelperQueues, ConcurrentQueuesWork) {
  make_slices_uneven(*this);
  const std::vector<cl_kernel> kernels = make_kernels(4);
  kit::on_threads(4, [&](std::size_t thread) {
    for (int round = 0; round < 5; ++round) {
      const kit::Queue own = cl.queue(context, device);
      for (int i = 0; i < 4; ++i) EXPECT_EQ(launch_on(own, kernels[thread]), CL_SUCCESS);
      EXPECT_EQ(cl.clFinish(own), CL_SUCCESS);
    }
  });
  EXPECT_EQ(driver.live(sim::Kind::queue), 1U);
  EXPECT_GT(statistics().pipelined, 0U);
  // Launches of several queues may add to an element at a time, each its own way: at END, one by one.
  expect_each_item_ran(80);
}

TEST_F(HelperQueues, FollowChangedQueueProperties) {
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  ASSERT_EQ(cl.clSetCommandQueueProperty(queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, nullptr), CL_SUCCESS);
  const kit::Event event = launch_event(kernel);
  cl.clFinish(queue);
  EXPECT_EQ(statistics().pipelined, 2U);
  EXPECT_EQ(driver.live(sim::Kind::queue), 1U + 5U) << "three without profiling, and the rest with it";
  EXPECT_GT(cl.profiled(event, CL_PROFILING_COMMAND_START), 0U);
}

}  // namespace
}  // namespace cleave
