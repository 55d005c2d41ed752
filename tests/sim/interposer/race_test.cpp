// What another thread does between two steps of Cleave's: here the driver does it, within the call of one of
// its functions, so that it comes at the worst moment each time.

#include <chrono>
#include <functional>
#include <future>
#include <utility>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

// Done once, as soon as the driver is called, on the thread that calls it.
std::function<void()> meanwhile;

void run_other_thread() {
  if (auto act = std::exchange(meanwhile, nullptr)) act();
}

cl_int CL_API_CALL flush(cl_command_queue queue) {
  run_other_thread();
  return sim::Driver::table().clFlush(queue);
}

cl_int CL_API_CALL retain_queue(cl_command_queue queue) {
  run_other_thread();
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
  run_other_thread();
  return error;
}

Table driver_with(void (*change)(Table&)) {
  Table table = sim::Driver::table();
  change(table);
  return table;
}

void run_other_thread_in_flush(Table& table) {
  table.clFlush = flush;
  table.clRetainCommandQueue = retain_queue;
}

base::Settings with(base::LaunchMode launch, base::WaitMode wait) {
  base::Settings settings = default_settings();
  settings.launch = launch;
  settings.wait = wait;
  return settings;
}

cl_event marker_on(const InterposerFixture& fixture, cl_command_queue queue) {
  cl_event marker = nullptr;
  EXPECT_EQ(fixture.cl.marker(queue, {}, &marker), CL_SUCCESS);
  return marker;
}

// A driver may hold a lock of its own while it calls the program back, and the program calls us there. So we
// hold none while we call the driver.
TEST(Race, NoRecordIsLockedDuringAFlush) {
  const Table below = driver_with(run_other_thread_in_flush);
  InterposerFixture fixture(with(base::LaunchMode::queued, base::WaitMode::sleeping), default_driver(), 0,
                            below);
  cl_event marker = marker_on(fixture, fixture.queue);
  bool passed = false;
  std::future<bool> callback;  // ends after the wait at the latest
  meanwhile = [&] {
    callback = std::async(std::launch::async, [&] {
      return interpose::interposer().records.queues.find(fixture.queue).has_value();
    });
    passed = callback.wait_for(10s) == std::future_status::ready;
  };
  EXPECT_EQ(fixture.cl.wait({marker}), CL_SUCCESS);
  EXPECT_FALSE(meanwhile) << "nothing was flushed";
  EXPECT_TRUE(passed) << "a lock is held while the driver is called";
  fixture.cl.clReleaseEvent(marker);
}

// The program's last reference goes while a queue that an event names is being flushed: for a paced launch,
// and for a wait.
TEST(Race, QueueIsRetainedUntilFlushed) {
  for (const bool waits : {false, true}) {
    const Table below = driver_with(run_other_thread_in_flush);
    InterposerFixture fixture(waits ? with(base::LaunchMode::queued, base::WaitMode::sleeping)
                                    : with(base::LaunchMode::sequential, base::WaitMode::native),
                              default_driver(), 0, below);
    const cl_kernel kernel = fixture.make_kernel();
    cl_command_queue other =
        fixture.cl.clCreateCommandQueue(fixture.context, fixture.driver.device(), 0, nullptr);
    cl_event upstream = marker_on(fixture, other);
    fixture.driver.run_until_idle();  // a command under way would keep its queue
    const std::size_t before = fixture.driver.live(sim::Kind::queue);
    bool there = false;
    meanwhile = [&] {
      EXPECT_EQ(fixture.cl.clReleaseCommandQueue(other), CL_SUCCESS);
      EXPECT_FALSE(interpose::interposer().records.queues.find(other)) << "the program has done with it";
      cl_uint references = 0;
      there = sim::Driver::table().clGetCommandQueueInfo(other, CL_QUEUE_REFERENCE_COUNT, sizeof references,
                                                         &references, nullptr) == CL_SUCCESS &&
              references == 1;
    };
    if (waits) {
      EXPECT_EQ(fixture.cl.wait({upstream}), CL_SUCCESS);
    } else {
      EXPECT_EQ(fixture.launch(kernel, nullptr, {upstream}), CL_SUCCESS);
    }
    EXPECT_FALSE(meanwhile) << "nothing was flushed";
    EXPECT_TRUE(there) << "a queue was flushed that was gone";
    fixture.cl.clReleaseEvent(upstream);
    fixture.driver.run_until_idle();
    EXPECT_EQ(fixture.driver.live(sim::Kind::queue), before - 1);
  }
}

// A thread that waited for a user event may release it before the call that sets it has returned, and the
// driver its address to the next one.
TEST(Race, UserEventAtAReusedAddressIsPending) {
  const Table below = driver_with([](Table& table) {
    table.clReleaseEvent = release_event;
    table.clCreateUserEvent = create_user_event;
    table.clSetUserEventStatus = set_user_event_status;
  });
  InterposerFixture fixture(default_settings(), default_driver(), 0, below);
  cl_event first = fixture.cl.clCreateUserEvent(fixture.context, nullptr);
  cl_event second = nullptr;
  meanwhile = [&] {
    fixture.cl.clReleaseEvent(first);
    second = fixture.cl.clCreateUserEvent(fixture.context, nullptr);
  };
  EXPECT_EQ(fixture.cl.clSetUserEventStatus(first, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(second, first);
  EXPECT_EQ(interpose::interposer().records.pending_user_events.size(), 1U) << "the second has not been set";
  interpose::interposer().records.pending_user_events.forget(second);
  sim::Driver::table().clReleaseEvent(first);
}

// A Cleave above announces that it splits while this one is still asking.
TEST(Race, CleaveAboveTakesOverDuringALaunch) {
  Table below = sim::Driver::table();
  below.clGetExtensionFunctionAddress = [](const char*) -> void* {
    run_other_thread();
    return nullptr;
  };
  InterposerFixture fixture(default_settings(), default_driver(), 0, below);
  meanwhile = interpose::stand_aside;
  EXPECT_FALSE(interpose::interposer().begin_splitting());
  EXPECT_FALSE(interpose::interposer().begin_splitting()) << "nor later";
}

}  // namespace
}  // namespace cleave
