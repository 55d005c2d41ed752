// Threads that are cancelled inside the driver, as many are in whatever it waits for or reads there. Natively
// they are unwound from that place; with Cleave they must go, too, and never end the process.

#include <atomic>
#include <pthread.h>
#include <string>

#include "interpose/drivers/device_facts.h"
#include "tests/kit/temporary_folder.h"
#include "tests/sim/interposer/turn_fixture.h"
#include "turns/turns.h"

namespace cleave {
namespace {

// The simulated driver, with a place of cancellation at the beginning of every function.
template <auto Entry, typename Function = std::remove_reference_t<decltype(std::declval<Table>().*Entry)>>
struct CancellingCall;

template <auto Entry, typename Result, typename... Parameters>
struct CancellingCall<Entry, Result(CL_API_CALL*)(Parameters...)> {
  static Result CL_API_CALL call(Parameters... parameters) {
    pthread_testcancel();
    return (sim::Driver::table().*Entry)(parameters...);
  }
  // What a program gets for nothing.
  static void call_with_nothing(const Table& table) { (table.*Entry)(Parameters{}...); }
};

const Table& cancelling_table() {
  static const Table all = [] {
    Table table{};
#define CL_FUNCTION(version, name, ...) \
  table.name = CancellingCall<&Table::name, decltype(Table::name)>::call;
#include "opencl/functions.def"
#undef CL_FUNCTION
    return table;
  }();
  return all;
}

// Runs `action` on a thread of its own. Returns whether that was cancelled, inside or at the latest behind it.
bool is_cancelled(const std::function<void()>& action) {
  pthread_t thread{};
  const auto run = [](void* what) -> void* {
    (*static_cast<const std::function<void()>*>(what))();
    pthread_testcancel();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, nullptr, run, const_cast<void*>(static_cast<const void*>(&action))), 0);
  void* result = nullptr;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  return result == PTHREAD_CANCELED;
}

// The same on a thread that has a cancellation pending.
bool completes_when_cancelled(const std::function<void()>& action) {
  return is_cancelled([&] {
    pthread_cancel(pthread_self());
    action();
  });
}

struct Mode {
  base::LaunchMode launch;
};

void PrintTo(Mode mode, std::ostream* out) {
  *out << (mode.launch == base::LaunchMode::queued ? "Queued" : "Sequential");
}

class ThreadCancellation : public testing::TestWithParam<Mode>, public InterposerFixture {
 protected:
  ThreadCancellation()
      : InterposerFixture(kit::with(default_settings(), &base::Settings::launch, GetParam().launch,
                                    &base::Settings::wait, base::WaitMode::sleeping),
                          default_driver(), 0, cancelling_table()) {}

  const cl_kernel kernel = make_kernel();
};

TEST_P(ThreadCancellation, IsPossibleInEveryFunction) {
#define CL_FUNCTION(version, name, ...)                                                               \
  EXPECT_TRUE(completes_when_cancelled([&] { CancellingCall<&Table::name>::call_with_nothing(cl); })) \
      << #name;
#include "opencl/functions.def"
#undef CL_FUNCTION
}

TEST_P(ThreadCancellation, LaunchIsCompletedFirst) {
  EXPECT_TRUE(completes_when_cancelled([&] { launch(kernel); }));
  EXPECT_EQ(statistics().split, 1U);
  expect_each_item_ran(1);
}

// Where a thread does nothing else, that is where it has to go.
TEST_P(ThreadCancellation, BuildsAndWaitsAreNotRepeatedForever) {
  const cl_program program = make_program(kUsesGroupId);
  EXPECT_TRUE(completes_when_cancelled([&] {
    while (true) cl.build(program);
  }));
  EXPECT_TRUE(completes_when_cancelled([&] {
    while (true) {
      launch(kernel);
      cl.clFinish(queue);
    }
  }));
  cl_int first = 0;
  EXPECT_TRUE(completes_when_cancelled([&] {
    while (true) {
      cl.read(queue, buffer, kit::Blocking::yes, std::span(&first, 1));
    }
  }));
}

// The end of a wait is noted for the turns, which calls the driver and the system.
TEST(ConfiguredThreadCancellation, WaitsOfAProcessThatHoldsTheDevice) {
  const kit::TemporaryFolder folder;
  base::Settings settings = kit::with(default_settings(), &base::Settings::wait, base::WaitMode::native,
                                      &base::Settings::registry, folder.path());
  settings.turns.mode = base::TurnMode::on;
  InterposerFixture fixture(settings, default_driver(), 0, cancelling_table());
  base::ForkLocks forks;
  const std::uint64_t identity = interpose::identity_of(sim::Driver::table(), fixture.driver.device());
  turns::Turns other(forks, {.folder = folder.path(), .identity = std::to_string(identity), .timing = {}});
  std::string problem;
  ASSERT_TRUE(other.enter(problem)) << problem;
  const cl_kernel kernel = fixture.make_kernel();
  interpose::interposer().feeder.stop();  // all slices run on the program's threads
  // The thread that waits is cancelled while it is in the driver, behind its place of cancellation.
  std::atomic<bool> cancels{false};
  fixture.driver.kernel("add", [&](sim::Execution& e) {
    sim::add_to_elements(e);
    if (cancels) pthread_cancel(pthread_self());
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
    cancels = true;
    EXPECT_TRUE(is_cancelled([&] { fixture.cl.clFinish(fixture.queue); }));
    cancels = false;
    const kit::Event event = fixture.launch_event(kernel);
    cancels = true;
    EXPECT_TRUE(is_cancelled([&] { fixture.cl.wait({event}); }));
    cancels = false;
  }
  fixture.expect_each_item_ran(6);
  // Until the thread that looks after what is on the device has done so.
  EXPECT_TRUE(is_given_back(fixture.driver, other));
}

// What is booked is written to a file, also where the driver destroys an object on the program's thread.
TEST(ConfiguredThreadCancellation, WhereMemoryIsCounted) {
  const kit::TemporaryFolder folder;
  base::Settings settings = kit::with(default_settings(), &base::Settings::registry, folder.path());
  settings.limits.memory = 1 << 20;
  settings.limits.tenant = "alice";
  InterposerFixture fixture(settings);
  const kit::Api& cl = fixture.cl;
  const auto booked = [] { return interpose::interposer().memory.report()[0].bytes; };
  const std::uint64_t before = booked();
  EXPECT_TRUE(is_cancelled([&] {
    cl_mem const object = cl.clCreateBuffer(fixture.context, 0, 4096, nullptr, nullptr);
    pthread_cancel(pthread_self());
    cl.clReleaseMemObject(object);
  }));
  EXPECT_TRUE(is_cancelled([&] {
    void* const memory = cl.clSVMAlloc(fixture.context, CL_MEM_READ_WRITE, 4096, 0);
    pthread_cancel(pthread_self());
    cl.clSVMFree(fixture.context, memory);
  }));
  EXPECT_TRUE(completes_when_cancelled([&] {
    void* memory = cl.clSVMAlloc(fixture.context, CL_MEM_READ_WRITE, 4096, 0);
    cl.clEnqueueSVMFree(fixture.queue, 1, &memory, nullptr, nullptr, 0, nullptr, nullptr);
    cl.clFinish(fixture.queue);
  }));
  EXPECT_EQ(booked(), before);
}

INSTANTIATE_TEST_SUITE_P(Modes, ThreadCancellation,
                         testing::Values(Mode{base::LaunchMode::queued}, Mode{base::LaunchMode::sequential}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace cleave
