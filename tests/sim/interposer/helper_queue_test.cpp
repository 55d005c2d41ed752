// Helper queues: who owns them, how long they live, and that they make no launch wait for an unrelated one.

#include <chrono>
#include <thread>

#include "tests/sim/interposer/pipelined_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(HelperQueues, AreCreatedOnFirstUseAndReused) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver());
  const cl_kernel kernel = fixture.make_kernel();
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 4U);
  EXPECT_EQ(InterposerFixture::statistics().pipelined, 10U) << "also while the launch before still runs";
  fixture.expect_each_item_ran(10);
}

TEST(HelperQueues, AreNotCreatedForUnsplitLaunches) {
  base::Settings settings = pipelined_settings();
  settings.vms = 1;
  InterposerFixture fixture(settings, concurrent_driver());
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U);
}

TEST(HelperQueues, AreSharedAndReleasedWithTheLastQueue) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver());
  const cl_kernel kernel = fixture.make_kernel();
  std::vector<cl_command_queue> queues(2);
  for (cl_command_queue& queue : queues)
    queue = fixture.cl.clCreateCommandQueue(fixture.context, fixture.driver.device(), 0, nullptr);
  for (const cl_command_queue queue : queues) {
    ASSERT_EQ(fixture.launch_on(queue, kernel), CL_SUCCESS);
    fixture.cl.clFinish(queue);
  }
  EXPECT_EQ(InterposerFixture::statistics().pipelined, 2U);
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 3U + 3U);
  fixture.cl.clRetainCommandQueue(queues[0]);
  fixture.cl.clReleaseCommandQueue(queues[0]);
  fixture.cl.clReleaseCommandQueue(queues[1]);
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 2U + 3U);
  fixture.cl.clReleaseCommandQueue(queues[0]);
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U) << "that which never needed helpers";
}

TEST(HelperQueues, LiveUntilTheirSlicesEnd) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver());
  const cl_kernel kernel = fixture.make_kernel();
  cl_command_queue queue =
      fixture.cl.clCreateCommandQueue(fixture.context, fixture.driver.device(), 0, nullptr);
  DriverOnlyEvent gate(fixture);
  ASSERT_EQ(fixture.launch_on(queue, kernel, nullptr, {gate.get()}), CL_SUCCESS);
  ASSERT_EQ(fixture.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  gate.open();
  fixture.driver.run_until_idle();
  fixture.expect_each_item_ran(1);
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U);
}

TEST(HelperQueues, AreReleasedWithAnUnflushedQueue) {
  const sim::Options options = lazy_flush_driver();
  InterposerFixture fixture(pipelined_settings(), options);
  const cl_kernel kernel = fixture.make_kernel();
  cl_command_queue queue =
      fixture.cl.clCreateCommandQueue(fixture.context, fixture.driver.device(), 0, nullptr);
  ASSERT_EQ(fixture.launch_on(queue, kernel), CL_SUCCESS);
  ASSERT_EQ(fixture.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  fixture.driver.run_until_idle();
  fixture.expect_each_item_ran(1);
}

// A second context, with everything in it, that is released before the fixture.
class SecondContext {
 public:
  explicit SecondContext(InterposerFixture& fixture) : fixture_(fixture) {
    const cl_device_id device = fixture.driver.device();
    context = fixture.cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = fixture.cl.clCreateCommandQueue(context, device, 0, nullptr);
    const char* source = kSplittable;
    program_ = fixture.cl.clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    fixture.cl.build(program_);
    buffer_ =
        fixture.cl.clCreateBuffer(context, 0, InterposerFixture::kItems * sizeof(cl_int), nullptr, nullptr);
    kernel = fixture.cl.clCreateKernel(program_, "add", nullptr);
    const cl_int one = 1;
    fixture.cl.set_argument(kernel, 0, buffer_);
    fixture.cl.set_argument(kernel, 1, one);
  }
  void release_all_but_queue_and_context() {
    fixture_.cl.clReleaseKernel(kernel);
    fixture_.cl.clReleaseProgram(program_);
    fixture_.cl.clReleaseMemObject(buffer_);
  }
  cl_uint references() const {
    const auto count = fixture_.cl.info<cl_uint>(context, CL_CONTEXT_REFERENCE_COUNT);
    return count;
  }

  cl_context context;
  cl_command_queue queue;
  cl_kernel kernel;

 private:
  InterposerFixture& fixture_;
  cl_program program_;
  cl_mem buffer_;
};

void CL_CALLBACK count_call(cl_context, void* calls) { ++*static_cast<int*>(calls); }

TEST(HelperQueues, DoNotKeepAContextAlive) {
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

TEST(HelperQueues, AreHiddenFromTheContextsReferenceCount) {
  for (const bool counts : {false, true}) {
    sim::Options options = concurrent_driver();
    options.context_counts_queues = counts;
    InterposerFixture fixture(pipelined_settings(), options);
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

// Helpers are made while another thread asks (ThreadSanitizer watches).
TEST(HelperQueues, ContextReferenceCountMayBeQueriedConcurrently) {
  sim::Options options = concurrent_driver();
  options.context_counts_queues = true;
  InterposerFixture fixture(pipelined_settings(), options);
  const cl_kernel kernel = fixture.make_kernel();
  {
    const std::jthread counter([&fixture](const std::stop_token& stop) {
      cl_uint count = 0;
      while (!stop.stop_requested())
        fixture.cl.clGetContextInfo(fixture.context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count,
                                    nullptr);
    });
    for (int i = 0; i < 20; ++i) {
      cl_command_queue queue =
          fixture.cl.clCreateCommandQueue(fixture.context, fixture.driver.device(), 0, nullptr);
      ASSERT_EQ(fixture.launch_on(queue, kernel), CL_SUCCESS);
      ASSERT_EQ(fixture.cl.clFinish(queue), CL_SUCCESS);
      ASSERT_EQ(fixture.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
    }
  }
  fixture.expect_each_item_ran(20);
}

struct Relaunch {
  const InterposerFixture& fixture;
  cl_kernel kernel;
  cl_int error = 1;
};

void CL_CALLBACK launch_again(cl_event, cl_int, void* data) {
  auto* const relaunch = static_cast<Relaunch*>(data);
  relaunch->error = relaunch->fixture.launch(relaunch->kernel);
}

// To make a queue within a callback is undefined; to enqueue is not.
TEST(HelperQueues, AreNotCreatedInCallbacks) {
  for (const auto wait : {base::WaitMode::native, base::WaitMode::automatic, base::WaitMode::sleeping}) {
    base::Settings settings = pipelined_settings();
    settings.wait = wait;
    InterposerFixture fixture(settings, concurrent_driver());
    const cl_kernel kernel = fixture.make_kernel();
    const auto launch_in_callback = [&] {
      Relaunch relaunch{fixture, kernel};
      const kit::Event before = fixture.cl.marker_event(fixture.queue);
      EXPECT_EQ(fixture.cl.clSetEventCallback(before, CL_COMPLETE, launch_again, &relaunch), CL_SUCCESS);
      EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
      fixture.driver.run_until_idle();
      EXPECT_EQ(relaunch.error, CL_SUCCESS);
    };
    launch_in_callback();
    EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U);
    EXPECT_EQ(queued_count(plan::SingleQueueReason::busy), 1U);
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    launch_in_callback();
    EXPECT_EQ(InterposerFixture::statistics().pipelined, 2U) << "with the helpers that there are by then";
    EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 4U);
    fixture.expect_each_item_ran(3);
  }
}

TEST(HelperQueues, CopyThePropertiesOfTheCallersQueue) {
  constexpr cl_queue_properties kPriority = 0x1096;
  constexpr cl_queue_properties kThrottle = 0x1097;
  sim::Options options = concurrent_driver();
  options.queue_hints = true;
  InterposerFixture fixture(pipelined_settings(), options);
  const cl_kernel kernel = fixture.make_kernel();
  const cl_queue_properties properties[] = {
      CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, kThrottle, 2, kPriority, 4, 0};
  const kit::Queue queue = fixture.cl.own(fixture.cl.clCreateCommandQueueWithProperties(
      fixture.context, fixture.driver.device(), properties, nullptr));
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

TEST(HelperQueues, QueuesWithUnknownPropertiesGetNone) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver());
  const cl_kernel kernel = fixture.make_kernel();
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, 0, CL_QUEUE_SIZE, 4096, 0};
  const kit::Queue queue = fixture.cl.own(fixture.cl.clCreateCommandQueueWithProperties(
      fixture.context, fixture.driver.device(), properties, nullptr));
  ASSERT_NE(queue, nullptr);
  ASSERT_EQ(fixture.launch_on(queue, kernel), CL_SUCCESS);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::queue), 1U);
  fixture.cl.clFinish(queue);
  fixture.expect_each_item_ran(1);
}

TEST(HelperQueues, AreNotUsedOnOpenCl11Drivers) {
  sim::Options options = concurrent_driver();
  options.platform_version = "OpenCL 1.1 sim";
  InterposerFixture fixture(pipelined_settings(), options);
  ASSERT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::queue), 1U);
}

TEST(HelperQueues, BlockedHelpersAreNotShared) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver());
  const cl_program program = fixture.make_program(kSplittable);
  const cl_kernel held = fixture.make_kernel(program, "add");
  const cl_kernel free = fixture.make_kernel(program, "sum");
  std::vector<cl_command_queue> queues(3);
  for (cl_command_queue& queue : queues) queue = fixture.make_queue();
  DriverOnlyEvent gate(fixture);
  ASSERT_EQ(fixture.launch_on(queues[0], held, nullptr, {gate.get()}), CL_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(fixture.launch_on(queues[1], free), CL_SUCCESS) << "gets the two that may still be made";
    EXPECT_EQ(fixture.cl.clFinish(queues[1]), CL_SUCCESS);
  }
  DriverOnlyEvent second(fixture);
  ASSERT_EQ(fixture.launch_on(queues[1], held, nullptr, {second.get()}), CL_SUCCESS);
  ASSERT_EQ(fixture.launch_on(queues[2], free), CL_SUCCESS);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::busy), 1U);
  EXPECT_EQ(fixture.cl.clFinish(queues[2]), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 4U + 5U);
  gate.open();
  second.open();
  fixture.cl.clFinish(queues[0]);
  fixture.cl.clFinish(queues[1]);
  ASSERT_EQ(fixture.launch_on(queues[2], free), CL_SUCCESS);
  EXPECT_EQ(queued_count(plan::SingleQueueReason::busy), 1U) << "idle again";
  fixture.cl.clFinish(queues[2]);
  fixture.expect_each_item_ran(6);
}

// On a driver that starts nothing before it is asked to, a program may flush as late as it likes.
TEST(HelperQueues, LateFlushCausesNoDeadlock) {
  for (const auto properties : {cl_command_queue_properties{0},
                                cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    const sim::Options options = lazy_flush_driver();
    InterposerFixture fixture(pipelined_settings(), options, properties);
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

TEST(HelperQueues, ConcurrentQueuesWork) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver());
  make_slices_uneven(fixture);
  const cl_program program = fixture.make_program(kSplittable);
  std::vector<cl_kernel> kernels(4);
  for (cl_kernel& kernel : kernels) kernel = fixture.make_kernel(program, "add");
  {
    std::vector<std::jthread> threads;
    threads.reserve(kernels.size());
    for (const cl_kernel kernel : kernels) {
      threads.emplace_back([&fixture, kernel] {
        for (int round = 0; round < 5; ++round) {
          const kit::Queue queue = fixture.cl.queue(fixture.context, fixture.driver.device());
          for (int i = 0; i < 4; ++i) EXPECT_EQ(fixture.launch_on(queue, kernel), CL_SUCCESS);
          EXPECT_EQ(fixture.cl.clFinish(queue), CL_SUCCESS);
        }
      });
    }
  }
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U);
  EXPECT_GT(InterposerFixture::statistics().pipelined, 0U);
  // Launches of several queues may add to an element at a time, each its own way: at END, one by one.
  fixture.expect_each_item_ran(80);
}

TEST(HelperQueues, FollowChangedQueueProperties) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver());
  const cl_kernel kernel = fixture.make_kernel();
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  ASSERT_EQ(fixture.cl.clSetCommandQueueProperty(fixture.queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, nullptr),
            CL_SUCCESS);
  const kit::Event event = fixture.launch_event(kernel);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(InterposerFixture::statistics().pipelined, 2U);
  EXPECT_EQ(fixture.driver.live(sim::Kind::queue), 1U + 5U)
      << "three without profiling, and the rest with it";
  EXPECT_GT(fixture.cl.profiled(event, CL_PROFILING_COMMAND_START), 0U);
}

}  // namespace
}  // namespace cleave
