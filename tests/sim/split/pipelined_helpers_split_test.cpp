// Helper queues: whose they are, how long they live, and that nobody waits for another because of them.

#include <chrono>
#include <thread>

#include "tests/sim/split/pipelined.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(Helpers, AreMadeOnFirstUseAndUsedAgain) {
  Scene scene(pipelined_settings(), wide_driver());
  const cl_kernel kernel = scene.make_kernel();
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 1U);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 4U);
  EXPECT_EQ(Scene::tally().pipelined, 10U) << "also while the launch before still runs";
  scene.expect_each_item_ran(10);
}

TEST(Helpers, AreNotMadeForLaunchesThatNeedNone) {
  base::Settings settings = pipelined_settings();
  settings.vms = 1;
  Scene scene(settings, wide_driver());
  ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 1U);
}

TEST(Helpers, AreSharedByQueuesAndGoWithTheLast) {
  Scene scene(pipelined_settings(), wide_driver());
  const cl_kernel kernel = scene.make_kernel();
  std::vector<cl_command_queue> queues(2);
  for (cl_command_queue& queue : queues)
    queue = scene.cl.clCreateCommandQueue(scene.context, scene.driver.device(), 0, nullptr);
  for (const cl_command_queue queue : queues) {
    ASSERT_EQ(scene.launch_on(queue, kernel), CL_SUCCESS);
    scene.cl.clFinish(queue);
  }
  EXPECT_EQ(Scene::tally().pipelined, 2U);
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 3U + 3U);
  scene.cl.clRetainCommandQueue(queues[0]);
  scene.cl.clReleaseCommandQueue(queues[0]);
  scene.cl.clReleaseCommandQueue(queues[1]);
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 2U + 3U);
  scene.cl.clReleaseCommandQueue(queues[0]);
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 1U) << "that which never needed helpers";
}

TEST(Helpers, LiveOnUntilTheirSlicesHaveEnded) {
  Scene scene(pipelined_settings(), wide_driver());
  const cl_kernel kernel = scene.make_kernel();
  cl_command_queue queue = scene.cl.clCreateCommandQueue(scene.context, scene.driver.device(), 0, nullptr);
  HiddenGate gate(scene);
  ASSERT_EQ(scene.launch_on(queue, kernel, nullptr, {gate.get()}), CL_SUCCESS);
  ASSERT_EQ(scene.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  gate.open();
  scene.driver.run_until_idle();
  scene.expect_each_item_ran(1);
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 1U);
}

TEST(Helpers, ReleasedWithAQueueThatWasNeverFlushed) {
  const sim::Options options = lazy_driver();
  Scene scene(pipelined_settings(), options);
  const cl_kernel kernel = scene.make_kernel();
  cl_command_queue queue = scene.cl.clCreateCommandQueue(scene.context, scene.driver.device(), 0, nullptr);
  ASSERT_EQ(scene.launch_on(queue, kernel), CL_SUCCESS);
  ASSERT_EQ(scene.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  scene.driver.run_until_idle();
  scene.expect_each_item_ran(1);
}

// A second context, with everything in it, that ends before the scene does.
class Apart {
 public:
  explicit Apart(Scene& scene) : scene_(scene) {
    const cl_device_id device = scene.driver.device();
    context = scene.cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = scene.cl.clCreateCommandQueue(context, device, 0, nullptr);
    const char* source = kSplittable;
    program_ = scene.cl.clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    scene.cl.clBuildProgram(program_, 0, nullptr, "", nullptr, nullptr);
    buffer_ = scene.cl.clCreateBuffer(context, 0, Scene::kItems * sizeof(cl_int), nullptr, nullptr);
    kernel = scene.cl.clCreateKernel(program_, "add", nullptr);
    const cl_int one = 1;
    scene.cl.clSetKernelArg(kernel, 0, sizeof buffer_, &buffer_);
    scene.cl.clSetKernelArg(kernel, 1, sizeof one, &one);
  }
  void release_all_but_queue_and_context() {
    scene_.cl.clReleaseKernel(kernel);
    scene_.cl.clReleaseProgram(program_);
    scene_.cl.clReleaseMemObject(buffer_);
  }
  cl_uint references() const {
    cl_uint count = 0;
    scene_.cl.clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr);
    return count;
  }

  cl_context context;
  cl_command_queue queue;
  cl_kernel kernel;

 private:
  Scene& scene_;
  cl_program program_;
  cl_mem buffer_;
};

void CL_CALLBACK count_call(cl_context, void* calls) { ++*static_cast<int*>(calls); }

TEST(Helpers, DoNotKeepAContextAlive) {
  for (const bool queue_first : {true, false}) {
    Scene scene(pipelined_settings(), wide_driver());
    Apart apart(scene);
    int destroyed = 0;
    scene.cl.clSetContextDestructorCallback(apart.context, count_call, &destroyed);
    ASSERT_EQ(scene.launch_on(apart.queue, apart.kernel), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().pipelined, 1U);
    scene.cl.clFinish(apart.queue);
    apart.release_all_but_queue_and_context();
    if (queue_first) scene.cl.clReleaseCommandQueue(apart.queue);
    EXPECT_EQ(scene.cl.clReleaseContext(apart.context), CL_SUCCESS);
    if (!queue_first) {
      EXPECT_EQ(destroyed, 0);
      scene.cl.clReleaseCommandQueue(apart.queue);
    }
    EXPECT_EQ(destroyed, 1);
  }
}

TEST(Helpers, AreNotInTheContextsReferenceCount) {
  for (const bool counts : {false, true}) {
    sim::Options options = wide_driver();
    options.counts_queues = counts;
    Scene scene(pipelined_settings(), options);
    Apart apart(scene);
    const cl_uint before = apart.references();
    EXPECT_EQ(before, counts ? 2U : 1U);
    ASSERT_EQ(scene.launch_on(apart.queue, apart.kernel), CL_SUCCESS);
    EXPECT_EQ(scene.driver.live(sim::Kind::queue), 1U + 4U);
    EXPECT_EQ(apart.references(), before);
    scene.cl.clRetainContext(apart.context);
    EXPECT_EQ(apart.references(), before + 1);
    scene.cl.clReleaseContext(apart.context);
    scene.cl.clFinish(apart.queue);
    apart.release_all_but_queue_and_context();
    scene.cl.clReleaseCommandQueue(apart.queue);
    EXPECT_EQ(apart.references(), 1U);
    scene.cl.clReleaseContext(apart.context);
  }
}

// Helpers are made while another thread asks (ThreadSanitizer watches).
TEST(Helpers, AContextsReferencesMayBeCountedAtAnyTime) {
  sim::Options options = wide_driver();
  options.counts_queues = true;
  Scene scene(pipelined_settings(), options);
  const cl_kernel kernel = scene.make_kernel();
  {
    const std::jthread counter([&scene](const std::stop_token& stop) {
      cl_uint count = 0;
      while (!stop.stop_requested())
        scene.cl.clGetContextInfo(scene.context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr);
    });
    for (int i = 0; i < 20; ++i) {
      cl_command_queue queue =
          scene.cl.clCreateCommandQueue(scene.context, scene.driver.device(), 0, nullptr);
      ASSERT_EQ(scene.launch_on(queue, kernel), CL_SUCCESS);
      ASSERT_EQ(scene.cl.clFinish(queue), CL_SUCCESS);
      ASSERT_EQ(scene.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
    }
  }
  scene.expect_each_item_ran(20);
}

struct Relaunch {
  const Scene& scene;
  cl_kernel kernel;
  cl_int error = 1;
};

void CL_CALLBACK launch_again(cl_event, cl_int, void* data) {
  auto* const relaunch = static_cast<Relaunch*>(data);
  relaunch->error = relaunch->scene.launch(relaunch->kernel);
}

// To make a queue within a callback is undefined; to enqueue is not.
TEST(Helpers, AreNotMadeWithinCallbacks) {
  for (const auto wait : {base::WaitMode::native, base::WaitMode::automatic, base::WaitMode::polite}) {
    base::Settings settings = pipelined_settings();
    settings.wait = wait;
    Scene scene(settings, wide_driver());
    const cl_kernel kernel = scene.make_kernel();
    const auto launch_in_callback = [&] {
      Relaunch relaunch{scene, kernel};
      cl_event before = nullptr;
      EXPECT_EQ(scene.cl.clEnqueueMarkerWithWaitList(scene.queue, 0, nullptr, &before), CL_SUCCESS);
      EXPECT_EQ(scene.cl.clSetEventCallback(before, CL_COMPLETE, launch_again, &relaunch), CL_SUCCESS);
      EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
      scene.driver.run_until_idle();
      EXPECT_EQ(relaunch.error, CL_SUCCESS);
      scene.cl.clReleaseEvent(before);
    };
    launch_in_callback();
    EXPECT_EQ(scene.driver.live(sim::Kind::queue), 1U);
    EXPECT_EQ(queued_for(plan::Queued::busy), 1U);
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    launch_in_callback();
    EXPECT_EQ(Scene::tally().pipelined, 2U) << "with the helpers that there are by then";
    EXPECT_EQ(scene.driver.live(sim::Kind::queue), 4U);
    scene.expect_each_item_ran(3);
  }
}

TEST(Helpers, HaveThePropertiesOfTheProgramsQueue) {
  constexpr cl_queue_properties kPriority = 0x1096;
  constexpr cl_queue_properties kThrottle = 0x1097;
  sim::Options options = wide_driver();
  options.queue_hints = true;
  Scene scene(pipelined_settings(), options);
  const cl_kernel kernel = scene.make_kernel();
  const cl_queue_properties properties[] = {
      CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, kThrottle, 2, kPriority, 4, 0};
  cl_command_queue queue =
      scene.cl.clCreateCommandQueueWithProperties(scene.context, scene.driver.device(), properties, nullptr);
  ASSERT_NE(queue, nullptr);
  scene.driver.forget();
  ASSERT_EQ(scene.launch_on(queue, kernel), CL_SUCCESS);
  std::size_t made = 0;
  for (const sim::Call& call : scene.driver.log()) {
    if (call.function != "clCreateCommandQueueWithProperties") continue;
    ++made;
    for (const char* property : {"4243=2", "4246=4", "4247=2"})
      EXPECT_NE(call.arguments.find(property), std::string::npos) << call.arguments;
  }
  EXPECT_EQ(made, 3U);
  ASSERT_EQ(scene.launch_on(scene.queue, kernel), CL_SUCCESS);
  EXPECT_EQ(scene.driver.count("clCreateCommandQueue"), 2U)
      << "as many as may be, with properties of their own";
  scene.cl.clReleaseCommandQueue(queue);
}

TEST(Helpers, QueuesWithPropertiesThatAreNotUnderstoodGetNone) {
  Scene scene(pipelined_settings(), wide_driver());
  const cl_kernel kernel = scene.make_kernel();
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, 0, CL_QUEUE_SIZE, 4096, 0};
  cl_command_queue queue =
      scene.cl.clCreateCommandQueueWithProperties(scene.context, scene.driver.device(), properties, nullptr);
  ASSERT_NE(queue, nullptr);
  ASSERT_EQ(scene.launch_on(queue, kernel), CL_SUCCESS);
  EXPECT_EQ(queued_for(plan::Queued::queue), 1U);
  scene.cl.clFinish(queue);
  scene.cl.clReleaseCommandQueue(queue);
  scene.expect_each_item_ran(1);
}

TEST(Helpers, OldDriversAreNotAskedForMarkersWithLists) {
  sim::Options options = wide_driver();
  options.platform_version = "OpenCL 1.1 sim";
  Scene scene(pipelined_settings(), options);
  ASSERT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(queued_for(plan::Queued::queue), 1U);
}

TEST(Helpers, HeldUpOnesAreNotGivenToOtherQueues) {
  Scene scene(pipelined_settings(), wide_driver());
  const cl_program program = scene.make_program(kSplittable);
  const cl_kernel held = scene.make_kernel(program, "add");
  const cl_kernel free = scene.make_kernel(program, "sum");
  std::vector<cl_command_queue> queues(3);
  for (cl_command_queue& queue : queues) queue = scene.make_queue();
  HiddenGate gate(scene);
  ASSERT_EQ(scene.launch_on(queues[0], held, nullptr, {gate.get()}), CL_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(scene.launch_on(queues[1], free), CL_SUCCESS) << "gets the two that may still be made";
    EXPECT_EQ(scene.cl.clFinish(queues[1]), CL_SUCCESS);
  }
  HiddenGate second(scene);
  ASSERT_EQ(scene.launch_on(queues[1], held, nullptr, {second.get()}), CL_SUCCESS);
  ASSERT_EQ(scene.launch_on(queues[2], free), CL_SUCCESS);
  EXPECT_EQ(queued_for(plan::Queued::busy), 1U);
  EXPECT_EQ(scene.cl.clFinish(queues[2]), CL_SUCCESS);
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 4U + 5U);
  gate.open();
  second.open();
  scene.cl.clFinish(queues[0]);
  scene.cl.clFinish(queues[1]);
  ASSERT_EQ(scene.launch_on(queues[2], free), CL_SUCCESS);
  EXPECT_EQ(queued_for(plan::Queued::busy), 1U) << "idle again";
  scene.cl.clFinish(queues[2]);
  scene.expect_each_item_ran(6);
}

// On a driver that starts nothing before it is asked to, a program may flush as late as it likes.
TEST(Helpers, NothingHangsOnAQueueThatTheProgramFlushesLate) {
  for (const auto properties : {cl_command_queue_properties{0},
                                cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    const sim::Options options = lazy_driver();
    Scene scene(pipelined_settings(), options, properties);
    const cl_program program = scene.make_program(kSplittable);
    const cl_kernel first = scene.make_kernel(program, "add");
    const cl_kernel second = scene.make_kernel(program, "sum");
    cl_command_queue upstream = scene.make_queue();
    cl_command_queue other = scene.make_queue(properties);
    cl_event late = nullptr;
    ASSERT_EQ(scene.cl.clEnqueueMarkerWithWaitList(upstream, 0, nullptr, &late), CL_SUCCESS);
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(first, &event, {late}), CL_SUCCESS);
    ASSERT_EQ(scene.launch_on(other, second), CL_SUCCESS);
    ASSERT_EQ(scene.cl.clFinish(other), CL_SUCCESS) << "what waits for the late flush is elsewhere";
    ASSERT_EQ(scene.cl.clFlush(scene.queue), CL_SUCCESS);
    ASSERT_EQ(scene.cl.clFlush(upstream), CL_SUCCESS);
    for (int i = 0; i < 10'000 && scene.status(event) != CL_COMPLETE; ++i)
      scene.driver.clock().sleep_for(1us);
    EXPECT_EQ(scene.status(event), CL_COMPLETE) << "one flush of the program's queue is enough";
    scene.cl.clReleaseEvent(late);
    scene.cl.clReleaseEvent(event);
    scene.expect_each_item_ran(2);
  }
}

TEST(Helpers, ThreadsWithQueuesOfTheirOwn) {
  Scene scene(pipelined_settings(), wide_driver());
  make_slices_uneven(scene);
  const cl_program program = scene.make_program(kSplittable);
  std::vector<cl_kernel> kernels(4);
  for (cl_kernel& kernel : kernels) kernel = scene.make_kernel(program, "add");
  {
    std::vector<std::jthread> threads;
    threads.reserve(kernels.size());
    for (const cl_kernel kernel : kernels) {
      threads.emplace_back([&scene, kernel] {
        for (int round = 0; round < 5; ++round) {
          cl_command_queue queue =
              scene.cl.clCreateCommandQueue(scene.context, scene.driver.device(), 0, nullptr);
          for (int i = 0; i < 4; ++i) EXPECT_EQ(scene.launch_on(queue, kernel), CL_SUCCESS);
          EXPECT_EQ(scene.cl.clFinish(queue), CL_SUCCESS);
          EXPECT_EQ(scene.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
        }
      });
    }
  }
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 1U);
  EXPECT_GT(Scene::tally().pipelined, 0U);
  // Launches of several queues may add to an element at a time, each its own way: at END, one by one.
  scene.expect_each_item_ran(80);
}

TEST(Helpers, ChangedPropertiesOfAQueueAreFollowed) {
  Scene scene(pipelined_settings(), wide_driver());
  const cl_kernel kernel = scene.make_kernel();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  ASSERT_EQ(scene.cl.clSetCommandQueueProperty(scene.queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, nullptr),
            CL_SUCCESS);
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  scene.cl.clFinish(scene.queue);
  EXPECT_EQ(Scene::tally().pipelined, 2U);
  EXPECT_EQ(scene.driver.live(sim::Kind::queue), 1U + 5U) << "three without profiling, and the rest with it";
  cl_ulong start = 0;
  EXPECT_EQ(
      scene.cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr),
      CL_SUCCESS);
  scene.cl.clReleaseEvent(event);
}

}  // namespace
}  // namespace cleave
