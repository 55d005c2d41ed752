// Blocking calls under sleeping waits: earlier commands are polled, and then the call is forwarded unchanged.

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

base::Settings blocking_in(base::WaitMode mode) {
  return kit::with(default_settings(), &base::Settings::wait, mode);
}

// What a blocking call needs, and what it may do.
struct Call {
  const kit::Api& cl;
  cl_command_queue queue;
  cl_mem buffer;
  cl_mem image;
  void* svm;
  std::vector<cl_int>& host;
  const std::vector<cl_event>& waits;
  cl_event* event;

  cl_uint count() const { return kit::Api::count(waits); }
  const cl_event* list() const { return kit::Api::list(waits); }
};

constexpr std::size_t kBytes = InterposerFixture::kItems * sizeof(cl_int);
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
         return c.cl.clEnqueueReadBuffer(c.queue, c.buffer, CL_TRUE, 0, kBytes, c.host.data(), c.count(),
                                         c.list(), c.event);
       }},
      {"clEnqueueWriteBuffer",
       [](const Call& c) {
         return c.cl.clEnqueueWriteBuffer(c.queue, c.buffer, CL_TRUE, 0, kBytes, c.host.data(), c.count(),
                                          c.list(), c.event);
       }},
      {"clEnqueueReadBufferRect",
       [](const Call& c) {
         return c.cl.clEnqueueReadBufferRect(c.queue, c.buffer, CL_TRUE, kOrigin, kOrigin, kRegion, 0, 0, 0,
                                             0, c.host.data(), c.count(), c.list(), c.event);
       }},
      {"clEnqueueWriteBufferRect",
       [](const Call& c) {
         return c.cl.clEnqueueWriteBufferRect(c.queue, c.buffer, CL_TRUE, kOrigin, kOrigin, kRegion, 0, 0, 0,
                                              0, c.host.data(), c.count(), c.list(), c.event);
       }},
      {"clEnqueueReadImage",
       [](const Call& c) {
         return c.cl.clEnqueueReadImage(c.queue, c.image, CL_TRUE, kOrigin, kPixels, 0, 0, c.host.data(),
                                        c.count(), c.list(), c.event);
       }},
      {"clEnqueueWriteImage",
       [](const Call& c) {
         return c.cl.clEnqueueWriteImage(c.queue, c.image, CL_TRUE, kOrigin, kPixels, 0, 0, c.host.data(),
                                         c.count(), c.list(), c.event);
       }},
      {"clEnqueueMapBuffer",
       [](const Call& c) {
         cl_int error = 1;
         void* mapped = c.cl.clEnqueueMapBuffer(c.queue, c.buffer, CL_TRUE, CL_MAP_READ, 0, kBytes, c.count(),
                                                c.list(), c.event, &error);
         if (mapped != nullptr) {
           std::copy_n(static_cast<cl_int*>(mapped), InterposerFixture::kItems, c.host.begin());
           c.cl.unmap(c.queue, c.buffer, mapped);
         }
         return error;
       }},
      {"clEnqueueMapImage",
       [](const Call& c) {
         cl_int error = 1;
         std::size_t pitch = 0;
         void* mapped = c.cl.clEnqueueMapImage(c.queue, c.image, CL_TRUE, CL_MAP_READ, kOrigin, kPixels,
                                               &pitch, nullptr, c.count(), c.list(), c.event, &error);
         if (mapped != nullptr) c.cl.unmap(c.queue, c.image, mapped);
         return error;
       }},
      {"clEnqueueSVMMemcpy",
       [](const Call& c) {
         return c.cl.clEnqueueSVMMemcpy(c.queue, CL_TRUE, c.host.data(), c.svm, 64, c.count(), c.list(),
                                        c.event);
       }},
      {"clEnqueueSVMMap", [](const Call& c) {
         const cl_int error =
             c.cl.clEnqueueSVMMap(c.queue, CL_TRUE, CL_MAP_READ, c.svm, 64, c.count(), c.list(), c.event);
         if (error == CL_SUCCESS) c.cl.clEnqueueSVMUnmap(c.queue, c.svm, 0, nullptr, nullptr);
         return error;
       }}};
  return all;
}

// What the program sees of one blocking call behind a launch.
struct CallOutcome {
  cl_int error = 1;
  bool has_event = false;
  cl_int status = 1;
  cl_command_type type = 0;
  cl_uint references = 0;
  std::vector<cl_int> host;
  bool operator==(const CallOutcome&) const = default;
};

enum class Wrong { nothing, upstream, launch };

class BlockingCallFixture {
 public:
  BlockingCallFixture(base::WaitMode mode, cl_command_queue_properties properties, Wrong wrong)
      : fixture_(blocking_in(mode), default_driver(), properties), wrong_(wrong) {
    const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
    cl_image_desc shape{};
    shape.image_type = CL_MEM_OBJECT_IMAGE2D;
    shape.image_width = kPixels[0];
    shape.image_height = kPixels[1];
    image_ = fixture_.cl.image(fixture_.context, format, shape);
    svm_ = fixture_.cl.clSVMAlloc(fixture_.context, CL_MEM_READ_WRITE, 64, 0);
    fixture_.driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(1ms); });
  }
  ~BlockingCallFixture() {
    fixture_.cl.clFinish(fixture_.queue);
    fixture_.cl.clSVMFree(fixture_.context, svm_);
  }
  BlockingCallFixture(const BlockingCallFixture&) = delete;
  BlockingCallFixture& operator=(const BlockingCallFixture&) = delete;

  InterposerFixture& fixture() { return fixture_; }

  // `before` is called between the launch and the call.
  CallOutcome play(
      const Function& function,
      const std::function<void(InterposerFixture&)>& before = [](InterposerFixture&) {}) {
    const cl_kernel kernel = fixture_.make_kernel();
    if (wrong_ != Wrong::nothing)
      fixture_.driver.fail_execution("add", wrong_ == Wrong::launch ? 3 : 20, -99);
    const kit::Event upstream = fixture_.launch_event(kernel);
    CallOutcome seen;
    seen.host.assign(InterposerFixture::kItems, 7);
    kit::Event event = fixture_.cl.event();
    fixture_.driver.forget();
    before(fixture_);
    seen.error = function.call(
        {fixture_.cl, fixture_.queue, fixture_.buffer, image_, svm_, seen.host, {upstream}, event.out()});
    seen.has_event = static_cast<bool>(event);
    if (!event) return seen;
    seen.status = fixture_.status(event);
    seen.type = fixture_.cl.info<cl_command_type>(event, CL_EVENT_COMMAND_TYPE);
    seen.references = fixture_.cl.info<cl_uint>(event, CL_EVENT_REFERENCE_COUNT);
    return seen;
  }

 private:
  InterposerFixture fixture_;
  const Wrong wrong_;
  kit::Image image_;
  void* svm_ = nullptr;
};

class SleepingBlockingCall : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(SleepingBlockingCall, IsIndistinguishableFromTheNativeCall) {
  for (const Function& function : functions()) {
    for (const Wrong wrong : {Wrong::nothing, Wrong::upstream, Wrong::launch}) {
      SCOPED_TRACE(std::string(function.name) + " " + std::to_string(static_cast<int>(wrong)));
      CallOutcome natively;
      {
        BlockingCallFixture stage(base::WaitMode::native, GetParam(), wrong);
        natively = stage.play(function);
        EXPECT_EQ(stage.fixture().driver.count("clFlush"), 0U);
      }
      BlockingCallFixture stage(base::WaitMode::sleeping, GetParam(), wrong);
      EXPECT_EQ(stage.play(function), natively);
      EXPECT_EQ(interpose::interposer().wait_statistics.sleeping(), 1U);
      EXPECT_EQ(stage.fixture().driver.count(function.name), 1U) << "made once, as it came";
    }
  }
}

TEST_P(SleepingBlockingCall, FallsBackToTheNativeCall) {
  for (const Function& function : functions()) {
    for (const char* added :
         {"clEnqueueMarkerWithWaitList", "clFlush", "clGetEventInfo", "clRetainCommandQueue"}) {
      for (unsigned nth = 1; nth <= 3; ++nth) {
        SCOPED_TRACE(std::string(function.name) + ", " + added + " " + std::to_string(nth));
        BlockingCallFixture stage(base::WaitMode::sleeping, GetParam(), Wrong::nothing);
        const CallOutcome seen = stage.play(function, [&](InterposerFixture& fixture) {
          fixture.driver.fail(added, nth, CL_OUT_OF_RESOURCES);
        });
        EXPECT_EQ(seen.error, CL_SUCCESS);
        EXPECT_TRUE(seen.has_event);
        EXPECT_EQ(seen.references, 1U);
      }
    }
  }
}

// While a user event is pending, a call with a mistake in it must fail at once: the program may set it then.
TEST_P(SleepingBlockingCall, InvalidCallBehindAUserEventReturns) {
  InterposerFixture fixture(blocking_in(base::WaitMode::sleeping), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  cl_event gate = fixture.user_event();
  ASSERT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  const auto start = fixture.driver.clock().now();
  EXPECT_EQ(fixture.cl.clEnqueueReadBuffer(fixture.queue, fixture.buffer, CL_TRUE, 0, kBytes, nullptr, 0,
                                           nullptr, nullptr),
            CL_INVALID_VALUE);
  EXPECT_FALSE(fixture.driver.hung());
  EXPECT_LT(fixture.driver.clock().now() - start, 10ms);
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  fixture.expect_each_item_ran(1);
}

// On a queue that keeps no order a blocking call waits for its list only, and so must the watch.
TEST(SleepingBlockingCallOutOfOrder, DoesNotWaitForOtherCommands) {
  InterposerFixture fixture(blocking_in(base::WaitMode::sleeping), default_driver(),
                            CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_kernel kernel = fixture.make_kernel();
  DriverOnlyEvent gate(fixture);  // so that nothing but the list decides
  ASSERT_EQ(fixture.launch(kernel, nullptr, {gate.get()}), CL_SUCCESS);
  const auto start = fixture.driver.clock().now();
  cl_event marker = nullptr;
  std::vector<cl_int> host(InterposerFixture::kItems);
  EXPECT_EQ(fixture.cl.clEnqueueReadBuffer(fixture.queue, fixture.buffer, CL_TRUE, 0, kBytes, host.data(), 0,
                                           nullptr, &marker),
            CL_SUCCESS);
  EXPECT_EQ(fixture.cl.clEnqueueReadBuffer(fixture.queue, fixture.buffer, CL_TRUE, 0, kBytes, host.data(), 1,
                                           &marker, nullptr),
            CL_SUCCESS);
  EXPECT_FALSE(fixture.driver.hung());
  EXPECT_LT(fixture.driver.clock().now() - start, 10ms);
  gate.open();
  fixture.cl.clReleaseEvent(marker);
  fixture.expect_each_item_ran(1);
}

// Natively a blocking call is on the queue from the beginning; what another thread enqueues comes after it.
TEST(SleepingBlockingCallShared, SharedQueueUsesTheNativeCall) {
  InterposerFixture fixture(blocking_in(base::WaitMode::sleeping));
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(1ms); });
  fixture.launch(kernel);
  fixture.driver.forget();
  std::jthread([&] { EXPECT_EQ(fixture.read(), std::vector<cl_int>(InterposerFixture::kItems, 1)); }).join();
  fixture.launch(kernel);
  EXPECT_EQ(fixture.read(), std::vector<cl_int>(InterposerFixture::kItems, 2));
  EXPECT_EQ(fixture.driver.count("clEnqueueMarkerWithWaitList"), 0U);
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.count("clEnqueueMarkerWithWaitList"), 1U) << "other waits are not in the way";
}

TEST(SleepingBlockingCallShared, WatchEndsWhenAnotherThreadUsesTheQueue) {
  InterposerFixture fixture(blocking_in(base::WaitMode::sleeping));
  const cl_kernel kernel = fixture.make_kernel();
  const cl_kernel another = fixture.make_kernel(kSplittable, "sum");
  fixture.driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(1ms); });
  DriverOnlyEvent gate(fixture);  // one that Cleave knew of would leave the wait to the driver
  std::atomic<bool> reading{false};
  std::jthread reader([&] {
    fixture.launch(kernel);
    fixture.cl.clFinish(fixture.queue);  // from now on the driver is known to make progress by itself
    fixture.driver.forget();
    reading = true;
    fixture.launch(kernel, nullptr, {gate.get()});
    static_cast<void>(fixture.read());
  });
  while (!reading || fixture.driver.count("clEnqueueMarkerWithWaitList") != 1 ||
         fixture.driver.count("clGetEventInfo") < 10) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(fixture.driver.count("clEnqueueReadBuffer"), 0U);
  EXPECT_EQ(fixture.launch(another), CL_SUCCESS);
  for (int i = 0; i < 1000 && fixture.driver.count("clEnqueueReadBuffer") == 0; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(fixture.driver.count("clEnqueueReadBuffer"), 1U) << "as natively, though its end is far";
  gate.open();
  reader.join();
  fixture.expect_each_item_ran(3);
}

INSTANTIATE_TEST_SUITE_P(Queues, SleepingBlockingCall, testing::ValuesIn(kQueueOrders), queue_order_name);

}  // namespace
}  // namespace cleave
