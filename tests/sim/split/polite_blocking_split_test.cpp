// Blocking calls under polite waiting: what lies before them is watched, and they are made as they came.

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

base::Settings blocking_in(base::WaitMode mode) {
  base::Settings settings = usual_settings();
  settings.wait = mode;
  return settings;
}

// What a blocking call needs, and what it may do.
struct Call {
  Scene& scene;
  cl_mem image;
  void* svm;
  std::vector<cl_int>& host;
  const std::vector<cl_event>& waits;
  cl_event* event;

  cl_uint count() const { return static_cast<cl_uint>(waits.size()); }
  const cl_event* list() const { return waits.empty() ? nullptr : waits.data(); }
};

constexpr std::size_t kBytes = Scene::kItems * sizeof(cl_int);
constexpr std::size_t kOrigin[3] = {0, 0, 0};
constexpr std::size_t kRegion[3] = {64, 4, 1};
constexpr std::size_t kPixels[3] = {16, 4, 1};

struct Function {
  const char* name;
  std::function<cl_int(const Call&)> call;
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all{
      {"clEnqueueReadBuffer",
       [](const Call& c) {
         return c.scene.cl.clEnqueueReadBuffer(c.scene.queue, c.scene.buffer, CL_TRUE, 0, kBytes,
                                               c.host.data(), c.count(), c.list(), c.event);
       }},
      {"clEnqueueWriteBuffer",
       [](const Call& c) {
         return c.scene.cl.clEnqueueWriteBuffer(c.scene.queue, c.scene.buffer, CL_TRUE, 0, kBytes,
                                                c.host.data(), c.count(), c.list(), c.event);
       }},
      {"clEnqueueReadBufferRect",
       [](const Call& c) {
         return c.scene.cl.clEnqueueReadBufferRect(c.scene.queue, c.scene.buffer, CL_TRUE, kOrigin, kOrigin,
                                                   kRegion, 0, 0, 0, 0, c.host.data(), c.count(), c.list(),
                                                   c.event);
       }},
      {"clEnqueueWriteBufferRect",
       [](const Call& c) {
         return c.scene.cl.clEnqueueWriteBufferRect(c.scene.queue, c.scene.buffer, CL_TRUE, kOrigin, kOrigin,
                                                    kRegion, 0, 0, 0, 0, c.host.data(), c.count(), c.list(),
                                                    c.event);
       }},
      {"clEnqueueReadImage",
       [](const Call& c) {
         return c.scene.cl.clEnqueueReadImage(c.scene.queue, c.image, CL_TRUE, kOrigin, kPixels, 0, 0,
                                              c.host.data(), c.count(), c.list(), c.event);
       }},
      {"clEnqueueWriteImage",
       [](const Call& c) {
         return c.scene.cl.clEnqueueWriteImage(c.scene.queue, c.image, CL_TRUE, kOrigin, kPixels, 0, 0,
                                               c.host.data(), c.count(), c.list(), c.event);
       }},
      {"clEnqueueMapBuffer",
       [](const Call& c) {
         cl_int error = 1;
         void* mapped = c.scene.cl.clEnqueueMapBuffer(c.scene.queue, c.scene.buffer, CL_TRUE, CL_MAP_READ, 0,
                                                      kBytes, c.count(), c.list(), c.event, &error);
         if (mapped != nullptr) {
           std::copy_n(static_cast<cl_int*>(mapped), Scene::kItems, c.host.begin());
           c.scene.cl.clEnqueueUnmapMemObject(c.scene.queue, c.scene.buffer, mapped, 0, nullptr, nullptr);
         }
         return error;
       }},
      {"clEnqueueMapImage",
       [](const Call& c) {
         cl_int error = 1;
         std::size_t pitch = 0;
         void* mapped =
             c.scene.cl.clEnqueueMapImage(c.scene.queue, c.image, CL_TRUE, CL_MAP_READ, kOrigin, kPixels,
                                          &pitch, nullptr, c.count(), c.list(), c.event, &error);
         if (mapped != nullptr) {
           c.scene.cl.clEnqueueUnmapMemObject(c.scene.queue, c.image, mapped, 0, nullptr, nullptr);
         }
         return error;
       }},
      {"clEnqueueSVMMemcpy",
       [](const Call& c) {
         return c.scene.cl.clEnqueueSVMMemcpy(c.scene.queue, CL_TRUE, c.host.data(), c.svm, 64, c.count(),
                                              c.list(), c.event);
       }},
      {"clEnqueueSVMMap", [](const Call& c) {
         const cl_int error = c.scene.cl.clEnqueueSVMMap(c.scene.queue, CL_TRUE, CL_MAP_READ, c.svm, 64,
                                                         c.count(), c.list(), c.event);
         if (error == CL_SUCCESS) c.scene.cl.clEnqueueSVMUnmap(c.scene.queue, c.svm, 0, nullptr, nullptr);
         return error;
       }}};
  return all;
}

// What the program sees of one blocking call behind a launch.
struct Seen {
  cl_int error = 1;
  bool has_event = false;
  cl_int status = 1;
  cl_command_type type = 0;
  cl_uint references = 0;
  std::vector<cl_int> host;
  bool operator==(const Seen&) const = default;
};

enum class Wrong { nothing, upstream, launch };

class Stage {
 public:
  Stage(base::WaitMode mode, cl_command_queue_properties properties, Wrong wrong)
      : scene_(blocking_in(mode), usual_driver(), properties), wrong_(wrong) {
    const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
    cl_image_desc shape{};
    shape.image_type = CL_MEM_OBJECT_IMAGE2D;
    shape.image_width = kPixels[0];
    shape.image_height = kPixels[1];
    image_ = scene_.cl.clCreateImage(scene_.context, CL_MEM_READ_WRITE, &format, &shape, nullptr, nullptr);
    svm_ = scene_.cl.clSVMAlloc(scene_.context, CL_MEM_READ_WRITE, 64, 0);
    scene_.driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(1ms); });
  }
  ~Stage() {
    scene_.cl.clFinish(scene_.queue);
    scene_.cl.clSVMFree(scene_.context, svm_);
    scene_.cl.clReleaseMemObject(image_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Scene& scene() { return scene_; }

  // `before` is called between the launch and the call.
  Seen play(
      const Function& function, const std::function<void(Scene&)>& before = [](Scene&) {}) {
    const cl_kernel kernel = scene_.make_kernel();
    cl_event upstream = nullptr;
    if (wrong_ != Wrong::nothing) scene_.driver.fail_execution("add", wrong_ == Wrong::launch ? 3 : 20, -99);
    EXPECT_EQ(scene_.launch(kernel, &upstream), CL_SUCCESS);
    Seen seen;
    seen.host.assign(Scene::kItems, 7);
    cl_event event = nullptr;
    scene_.driver.forget();
    before(scene_);
    seen.error = function.call({scene_, image_, svm_, seen.host, {upstream}, &event});
    look(event, seen);
    scene_.cl.clReleaseEvent(upstream);
    return seen;
  }

 private:
  void look(cl_event event, Seen& seen) {
    seen.has_event = event != nullptr;
    if (event == nullptr) return;
    seen.status = scene_.status(event);
    scene_.cl.clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof seen.type, &seen.type, nullptr);
    scene_.cl.clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof seen.references, &seen.references,
                             nullptr);
    scene_.cl.clReleaseEvent(event);
  }

  Scene scene_;
  const Wrong wrong_;
  cl_mem image_ = nullptr;
  void* svm_ = nullptr;
};

class PoliteBlocking : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(PoliteBlocking, ProgramSeesWhatItSeesNatively) {
  for (const Function& function : functions()) {
    for (const Wrong wrong : {Wrong::nothing, Wrong::upstream, Wrong::launch}) {
      SCOPED_TRACE(std::string(function.name) + " " + std::to_string(static_cast<int>(wrong)));
      Seen natively;
      {
        Stage stage(base::WaitMode::native, GetParam(), wrong);
        natively = stage.play(function);
        EXPECT_EQ(stage.scene().driver.count("clFlush"), 0U);
      }
      Stage stage(base::WaitMode::polite, GetParam(), wrong);
      EXPECT_EQ(stage.play(function), natively);
      EXPECT_EQ(interpose::process().waits.polite(), 1U);
      EXPECT_EQ(stage.scene().driver.count(function.name), 1U) << "made once, as it came";
    }
  }
}

TEST_P(PoliteBlocking, FaultInAnythingAddedLeavesTheDriversOwnCall) {
  for (const Function& function : functions()) {
    for (const char* added :
         {"clEnqueueMarkerWithWaitList", "clFlush", "clGetEventInfo", "clRetainCommandQueue"}) {
      for (unsigned nth = 1; nth <= 3; ++nth) {
        SCOPED_TRACE(std::string(function.name) + ", " + added + " " + std::to_string(nth));
        Stage stage(base::WaitMode::polite, GetParam(), Wrong::nothing);
        const Seen seen =
            stage.play(function, [&](Scene& scene) { scene.driver.fail(added, nth, CL_OUT_OF_RESOURCES); });
        EXPECT_EQ(seen.error, CL_SUCCESS);
        EXPECT_TRUE(seen.has_event);
        EXPECT_EQ(seen.references, 1U);
      }
    }
  }
}

// While a user event is pending, a call with a mistake in it must fail at once: the program may set it then.
TEST_P(PoliteBlocking, MistakeBehindAUserEventIsNoTrap) {
  Scene scene(blocking_in(base::WaitMode::polite), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = scene.user_event();
  ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  const auto start = scene.driver.clock().now();
  EXPECT_EQ(scene.cl.clEnqueueReadBuffer(scene.queue, scene.buffer, CL_TRUE, 0, kBytes, nullptr, 0, nullptr,
                                         nullptr),
            CL_INVALID_VALUE);
  EXPECT_FALSE(scene.driver.hung());
  EXPECT_LT(scene.driver.clock().now() - start, 10ms);
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  scene.expect_each_item_ran(1);
}

// On a queue that keeps no order a blocking call waits for its list only, and so must the watch.
TEST(PoliteBlockingOutOfOrder, OtherCommandsAreNotWaitedFor) {
  Scene scene(blocking_in(base::WaitMode::polite), usual_driver(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_kernel kernel = scene.make_kernel();
  // Made behind Cleave's back, so that nothing but the list decides.
  cl_event gate = sim::Driver::table().clCreateUserEvent(scene.context, nullptr);
  ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  const auto start = scene.driver.clock().now();
  cl_event marker = nullptr;
  std::vector<cl_int> host(Scene::kItems);
  EXPECT_EQ(scene.cl.clEnqueueReadBuffer(scene.queue, scene.buffer, CL_TRUE, 0, kBytes, host.data(), 0,
                                         nullptr, &marker),
            CL_SUCCESS);
  EXPECT_EQ(scene.cl.clEnqueueReadBuffer(scene.queue, scene.buffer, CL_TRUE, 0, kBytes, host.data(), 1,
                                         &marker, nullptr),
            CL_SUCCESS);
  EXPECT_FALSE(scene.driver.hung());
  EXPECT_LT(scene.driver.clock().now() - start, 10ms);
  sim::Driver::table().clSetUserEventStatus(gate, CL_COMPLETE);
  sim::Driver::table().clReleaseEvent(gate);
  scene.cl.clReleaseEvent(marker);
  scene.expect_each_item_ran(1);
}

// Natively a blocking call is on the queue from the beginning; what another thread enqueues comes after it.
TEST(PoliteBlockingShared, QueueOfSeveralThreadsIsLeftToTheDriver) {
  Scene scene(blocking_in(base::WaitMode::polite));
  const cl_kernel kernel = scene.make_kernel();
  scene.driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(1ms); });
  scene.launch(kernel);
  scene.driver.forget();
  std::jthread([&] { EXPECT_EQ(scene.read(), std::vector<cl_int>(Scene::kItems, 1)); }).join();
  scene.launch(kernel);
  EXPECT_EQ(scene.read(), std::vector<cl_int>(Scene::kItems, 2));
  EXPECT_EQ(scene.driver.count("clEnqueueMarkerWithWaitList"), 0U);
  EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
  EXPECT_EQ(scene.driver.count("clEnqueueMarkerWithWaitList"), 1U) << "other waits are not in the way";
}

TEST(PoliteBlockingShared, WatchEndsWhenAnotherThreadComes) {
  Scene scene(blocking_in(base::WaitMode::polite));
  const cl_kernel kernel = scene.make_kernel();
  const cl_kernel another = scene.make_kernel(kSplittable, "sum");
  scene.driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(1ms); });
  // Made behind Cleave's back: a user event that it knew of would leave the wait to the driver.
  cl_event gate = sim::Driver::table().clCreateUserEvent(scene.context, nullptr);
  std::atomic<bool> reading{false};
  std::jthread reader([&] {
    scene.launch(kernel);
    scene.cl.clFinish(scene.queue);  // from now on the driver is known to need nobody
    scene.driver.forget();
    reading = true;
    scene.launch(kernel, nullptr, {gate});
    static_cast<void>(scene.read());
  });
  while (!reading || scene.driver.count("clEnqueueMarkerWithWaitList") != 1 ||
         scene.driver.count("clGetEventInfo") < 10) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(scene.driver.count("clEnqueueReadBuffer"), 0U);
  EXPECT_EQ(scene.launch(another), CL_SUCCESS);
  for (int i = 0; i < 1000 && scene.driver.count("clEnqueueReadBuffer") == 0; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(scene.driver.count("clEnqueueReadBuffer"), 1U) << "as natively, though its end is far";
  sim::Driver::table().clSetUserEventStatus(gate, CL_COMPLETE);
  sim::Driver::table().clReleaseEvent(gate);
  reader.join();
  scene.expect_each_item_ran(3);
}

INSTANTIATE_TEST_SUITE_P(Queues, PoliteBlocking,
                         testing::Values(cl_command_queue_properties{0},
                                         cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "InOrder" : "OutOfOrder"; });

}  // namespace
}  // namespace cleave
