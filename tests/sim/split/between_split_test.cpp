// What another thread does between two steps of Cleave's: here the driver does it, within the call of one of
// its functions, so that it comes at the worst moment each time.

#include <chrono>
#include <functional>
#include <future>
#include <utility>

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

// Done once, as soon as the driver is called, on the thread that calls it.
std::function<void()> meanwhile;

void let_others_act() {
  if (auto act = std::exchange(meanwhile, nullptr)) act();
}

cl_int CL_API_CALL flush(cl_command_queue queue) {
  let_others_act();
  return sim::Driver::table().clFlush(queue);
}

cl_int CL_API_CALL retain_queue(cl_command_queue queue) {
  let_others_act();
  return sim::Driver::table().clRetainCommandQueue(queue);
}

// Events that the program gives back live on, and their addresses are used again.
cl_event given_back = nullptr;

cl_int CL_API_CALL release_event(cl_event event) {
  given_back = event;
  return CL_SUCCESS;
}

cl_event CL_API_CALL create_user_event(cl_context context, cl_int* error) {
  if (given_back != nullptr) return std::exchange(given_back, nullptr);
  return sim::Driver::table().clCreateUserEvent(context, error);
}

cl_int CL_API_CALL set_user_event_status(cl_event event, cl_int status) {
  const cl_int error = sim::Driver::table().clSetUserEventStatus(event, status);
  let_others_act();
  return error;
}

Table driver_with(void (*change)(Table&)) {
  Table table = sim::Driver::table();
  change(table);
  return table;
}

void lets_others_act_in_flushes(Table& table) {
  table.clFlush = flush;
  table.clRetainCommandQueue = retain_queue;
}

base::Settings with(base::LaunchMode launch, base::WaitMode wait) {
  base::Settings settings = usual_settings();
  settings.launch = launch;
  settings.wait = wait;
  return settings;
}

cl_event marker_on(const Scene& scene, cl_command_queue queue) {
  cl_event marker = nullptr;
  EXPECT_EQ(scene.cl.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker), CL_SUCCESS);
  return marker;
}

// A driver may hold a lock of its own while it calls the program back, and the program calls us there. So we
// hold none while we call the driver.
TEST(Between, NoRecordIsLockedWhileAWaitFlushes) {
  const Table below = driver_with(lets_others_act_in_flushes);
  Scene scene(with(base::LaunchMode::queued, base::WaitMode::polite), usual_driver(), 0, below);
  cl_event marker = marker_on(scene, scene.queue);
  bool passed = false;
  std::future<bool> callback;  // ends after the wait at the latest
  meanwhile = [&] {
    callback = std::async(std::launch::async,
                          [&] { return interpose::process().queues.find(scene.queue).has_value(); });
    passed = callback.wait_for(10s) == std::future_status::ready;
  };
  EXPECT_EQ(scene.cl.clWaitForEvents(1, &marker), CL_SUCCESS);
  EXPECT_FALSE(meanwhile) << "nothing was flushed";
  EXPECT_TRUE(passed) << "a lock is held while the driver is called";
  scene.cl.clReleaseEvent(marker);
}

// The program's last reference goes while a queue that an event names is being flushed: for a paced launch,
// and for a wait.
TEST(Between, QueueStaysUntilItHasBeenFlushed) {
  for (const bool waits : {false, true}) {
    const Table below = driver_with(lets_others_act_in_flushes);
    Scene scene(waits ? with(base::LaunchMode::queued, base::WaitMode::polite)
                      : with(base::LaunchMode::sequential, base::WaitMode::native),
                usual_driver(), 0, below);
    const cl_kernel kernel = scene.make_kernel();
    cl_command_queue other = scene.cl.clCreateCommandQueue(scene.context, scene.driver.device(), 0, nullptr);
    cl_event upstream = marker_on(scene, other);
    scene.driver.run_until_idle();  // a command under way would keep its queue
    const std::size_t before = scene.driver.live(sim::Kind::queue);
    bool there = false;
    meanwhile = [&] {
      EXPECT_EQ(scene.cl.clReleaseCommandQueue(other), CL_SUCCESS);
      EXPECT_FALSE(interpose::process().queues.find(other)) << "the program has done with it";
      cl_uint references = 0;
      there = sim::Driver::table().clGetCommandQueueInfo(other, CL_QUEUE_REFERENCE_COUNT, sizeof references,
                                                         &references, nullptr) == CL_SUCCESS &&
              references == 1;
    };
    if (waits) {
      EXPECT_EQ(scene.cl.clWaitForEvents(1, &upstream), CL_SUCCESS);
    } else {
      EXPECT_EQ(scene.launch(kernel, nullptr, {upstream}), CL_SUCCESS);
    }
    EXPECT_FALSE(meanwhile) << "nothing was flushed";
    EXPECT_TRUE(there) << "a queue was flushed that was gone";
    scene.cl.clReleaseEvent(upstream);
    scene.driver.run_until_idle();
    EXPECT_EQ(scene.driver.live(sim::Kind::queue), before - 1);
  }
}

// Somebody who waited for a user event may give it back before the call that sets it has returned, and the
// driver its address to the next one.
TEST(Between, UserEventAtAnAddressUsedAgainIsPending) {
  const Table below = driver_with([](Table& table) {
    table.clReleaseEvent = release_event;
    table.clCreateUserEvent = create_user_event;
    table.clSetUserEventStatus = set_user_event_status;
  });
  Scene scene(usual_settings(), usual_driver(), 0, below);
  cl_event first = scene.cl.clCreateUserEvent(scene.context, nullptr);
  cl_event second = nullptr;
  meanwhile = [&] {
    scene.cl.clReleaseEvent(first);
    second = scene.cl.clCreateUserEvent(scene.context, nullptr);
  };
  EXPECT_EQ(scene.cl.clSetUserEventStatus(first, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(second, first);
  EXPECT_EQ(interpose::process().pending.size(), 1U) << "the second has not been set";
  interpose::process().pending.forget(second);
  sim::Driver::table().clReleaseEvent(first);
}

// A face above says that it splits, while this one finds out whether it is to.
TEST(Between, FaceAboveThatSpeaksUpMeanwhileIsHeard) {
  Table below = sim::Driver::table();
  below.clGetExtensionFunctionAddress = [](const char*) -> void* {
    let_others_act();
    return nullptr;
  };
  Scene scene(usual_settings(), usual_driver(), 0, below);
  meanwhile = interpose::stand_aside;
  EXPECT_FALSE(interpose::process().in_charge());
  EXPECT_FALSE(interpose::process().in_charge()) << "nor later";
}

}  // namespace
}  // namespace cleave
