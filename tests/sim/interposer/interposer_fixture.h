// The simulated driver with Cleave on top, as a program would see it: `cl` calls Cleave, `driver` is what lies
// below. Everything is released at the end, and then nothing may be left in the driver.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/settings/configuration.h"
#include "interpose/calls/table.h"
#include "interpose/interposer.h"
#include "tests/kit/eventually.h"
#include "tests/kit/gtest.h"
#include "tests/kit/setup.h"
#include "tests/kit/threads.h"
#include "tests/kit/with.h"
#include "tests/sim/driver/driver.h"
#include "tests/sim/interposer/prelude_view.h"

namespace cleave {

// Kernels by what their source allows. Their bodies are the fixture's; each adds to what is there, so that a
// work-item that runs twice shows.
inline constexpr const char* kSplittable = R"(
  kernel void add(global int* data, int n) { data[get_global_id(0)] += n; }
  kernel void sum(global int* data, int n) { data[get_global_id(0)] += n; }
  __attribute__((reqd_work_group_size(16, 1, 1)))
  kernel void fixed(global int* data, int n) { data[get_global_id(0)] += n; }
)";
inline constexpr const char* kUsesGroupId =
    "kernel void reads_group_id(global int* data, int n) { data[get_group_id(0)] += n; }";
inline constexpr const char* kUsesAtomics =
    "kernel void uses_atomics(global int* data, int n) { n = atomic_add(&data[get_global_id(0)], n); }";
// By its source; the fixture's body does not.
inline constexpr const char* kMayWait =
    "kernel void may_wait(global int* data, int n) { while (atomic_add(&data[get_global_id(0)], n) == 0) {} "
    "}";

// Five VMs and α 4: twenty slices, on the program's queue. The device could hold all groups of a launch
// at once, so the rules for small launches are replaced by its number of cores.
inline base::Settings default_settings() {
  base::Settings settings;
  settings.vms = 5;
  settings.min_items = 128;
  settings.launch = base::LaunchMode::queued;
  return settings;
}

inline sim::Options default_driver() {
  sim::Options options;
  options.compute_units = 2;  // 128 cores, as Cleave estimates
  options.suggested_local_size = false;
  return options;
}

// One that starts nothing before it is flushed.
inline sim::Options lazy_driver() { return kit::with(default_driver(), &sim::Options::lazy_flush, true); }

// For tests of pipelined launches: a device that runs several commands at a time, with make_slices_uneven() below.
inline base::Settings pipelined_settings() {
  return kit::with(default_settings(), &base::Settings::launch, base::LaunchMode::pipelined);
}

inline sim::Options concurrent_driver() {
  return kit::with(default_driver(), &sim::Options::concurrent_commands, 8);
}

// The same, but it starts nothing before it is flushed. One thread alone calls it, so that a wait which
// nothing can end shows at once.
inline sim::Options lazy_flush_driver() {
  return kit::with(concurrent_driver(), &sim::Options::lazy_flush, true, &sim::Options::hang_timeout,
                   std::chrono::milliseconds(100));
}

// A driver with Cleave on it, which live before and after everything that is made with them.
class InterposedDriver {
 public:
  InterposedDriver(const base::Settings& settings, const sim::Options& options, const Table& below)
      : driver(options) {
    base::Configuration configuration;
    configuration.settings = settings;
    table = interpose::install(below, {"drop-in", "the simulated driver"}, std::move(configuration),
                               driver.clock());
  }
  InterposedDriver(const InterposedDriver&) = delete;
  InterposedDriver& operator=(const InterposedDriver&) = delete;
  ~InterposedDriver() { interpose::uninstall(); }

  sim::Driver driver;
  const Table* table = nullptr;
};

class InterposerFixture : public InterposedDriver, public kit::Setup {
 public:
  static constexpr std::size_t kItems = 4096;

  explicit InterposerFixture(const base::Settings& settings = default_settings(),
                             const sim::Options& options = default_driver(),
                             cl_command_queue_properties properties = 0,
                             const Table& below = sim::Driver::table())
      : InterposedDriver(settings, options, below),
        kit::Setup(kit::Api(*table, kit::fail_test), driver.device(), properties),
        buffer(make_buffer()) {
    for (const char* name : {"add", "sum", "fixed", "reads_group_id", "uses_atomics", "may_wait"})
      driver.kernel(name, sim::add_to_elements);
    driver.kernel("cleave_probe", probe_body);
  }

  ~InterposerFixture() {
    driver.run_until_idle();
    release_all();
    driver.run_until_idle();
    kit::eventually([&] { return all_is_released(); });
    EXPECT_EQ(driver.live_objects(), std::vector<std::string>{}) << "leaked";
    EXPECT_FALSE(driver.hung());
    EXPECT_EQ(driver.uses_of_released(), std::vector<std::string>{});
  }

  // Of zeros.
  cl_mem make_buffer() { return kit::Setup::make_buffer(std::vector<cl_int>(kItems, 0)); }

  // A kernel of that name with its arguments set: the fixture's buffer, and 1.
  cl_kernel make_kernel(cl_program program, const kit::Name& name) {
    return kit::Setup::make_kernel(program, name, buffer, cl_int{1});
  }
  cl_kernel make_kernel(const char* source = kSplittable, const kit::Name& name = "add") {
    return make_kernel(make_program(source), name);
  }
  // As many of `kSplittable`, for threads of their own.
  std::vector<cl_kernel> make_kernels(std::size_t count) {
    const cl_program program = make_program(kSplittable);
    std::vector<cl_kernel> kernels;
    for (std::size_t i = 0; i < count; ++i) kernels.push_back(make_kernel(program, "add"));
    return kernels;
  }
  cl_kernel with_arguments(cl_kernel kernel) const {
    EXPECT_EQ(cl.set_arguments(kernel, buffer, cl_int{1}), CL_SUCCESS);
    return kernel;
  }

  cl_program compiled(const std::string& source, const char* options = "") {
    const cl_program program = unbuilt_program(source);
    EXPECT_EQ(cl.compile(program, options), CL_SUCCESS);
    return program;
  }
  // Of programs that are compiled.
  cl_program linked(const std::vector<cl_program>& inputs) { return keep(cl.link(context, inputs)); }
  // The program, made again from its binary.
  cl_program reloaded(cl_program program) { return loaded(cl.binary(program)); }

  // The binary of a program that was built below Cleave.
  std::vector<unsigned char> foreign_binary(const std::string& source) const {
    const kit::Api below(sim::Driver::table(), kit::fail_test);
    return below.binary(below.build(context, source));
  }
  // A program made from that binary.
  cl_program loaded(const std::vector<unsigned char>& binary) {
    const cl_program program = keep(cl.program(context, device, binary));
    EXPECT_EQ(cl.build(program, nullptr), CL_SUCCESS);
    return program;
  }

  // 4096 items in groups of 16.
  cl_int launch(cl_kernel kernel, cl_event* event = nullptr, const kit::Waits& waits = {}) const {
    return launch_on(queue, kernel, event, waits);
  }
  cl_int launch_on(cl_command_queue where, cl_kernel kernel, cl_event* event = nullptr,
                   const kit::Waits& waits = {}) const {
    return cl.launch(where, kernel, {kItems, 16}, waits, event);
  }
  // The same, and its event.
  kit::Event launch_event(cl_kernel kernel, const kit::Waits& waits = {},
                          const kit::Where& where = kit::Where::current()) const {
    return cl.launch_event(queue, kernel, {kItems, 16}, waits, where);
  }

  std::vector<cl_int> read() const { return cl.read<cl_int>(queue, buffer, kItems); }

  // Every item of every launch so far has run exactly `times`.
  void expect_each_item_ran(cl_int times) const {
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    EXPECT_EQ(read(), std::vector<cl_int>(kItems, times));
  }

  // Until the latest launch has been enqueued to its last slice.
  static void await_feeder() {
    EXPECT_TRUE(kit::eventually([] { return !interpose::interposer().feeder.feeds(); }));
  }

  static observe::KernelStatistics statistics() {
    observe::KernelStatistics total;
    for (const auto& kernel : interpose::interposer().counters.all()) total += kernel.statistics;
    return total;
  }
  // The launches with this reason; with a kind, those with any reason of it.
  static std::uint64_t unsplit(plan::UnsplitReason why) {
    const observe::KernelStatistics total = statistics();
    std::uint64_t launches = 0;
    for (std::size_t i = 0; i < plan::kUnsplitReasons; ++i) {
      const auto reason = static_cast<plan::UnsplitReason>(i);
      if (reason == why || plan::kind_of(reason) == why) launches += total.unsplit[i];
    }
    return launches;
  }

  cl_mem buffer;

 private:
  // Cleave's threads let go of an event when they have seen its end, which they look for at intervals of the
  // driver's time.
  bool all_is_released() {
    if (driver.live_objects().empty()) return true;
    driver.clock().sleep_for(std::chrono::seconds(1));
    driver.run_until_idle();
    return false;
  }
};

// Slices of so different lengths that those which came later often end first.
inline void make_slices_uneven(InterposerFixture& fixture) {
  for (const char* name : {"add", "sum", "reads_group_id", "uses_atomics"}) {
    fixture.driver.cost(name, [](const sim::Launch& slice) {
      const std::size_t mixed = (slice.offset[0] + slice.offset[1] + 16) * 2654435761U;
      return base::Nanoseconds(1000 + mixed % 97'000);
    });
  }
}

inline std::uint64_t queued_count(plan::SingleQueueReason why) {
  return InterposerFixture::statistics().queued[static_cast<std::size_t>(why)];
}

inline std::set<std::uint64_t> queues_of(const std::vector<sim::Launch>& launches) {
  std::set<std::uint64_t> queues;
  for (const sim::Launch& launch : launches) queues.insert(launch.queue);
  return queues;
}

// Whichever of its slices fails.
template <class... Arguments>
void expect_a_failed_slice_fails_the_launch(const Arguments&... arguments) {
  for (unsigned k = 1; k <= 20; ++k) {
    InterposerFixture fixture(arguments...);
    const cl_kernel kernel = fixture.make_kernel();
    fixture.driver.fail_execution("add", k, -9999);
    const kit::Event event = fixture.launch_event(kernel);
    EXPECT_EQ(fixture.cl.wait({event}), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_LT(fixture.status(event), 0) << "slice " << k;
    if (k == 1 || k == 20) {
      EXPECT_EQ(fixture.status(event), -9999);
    }
  }
}

// An event that Cleave does not know of, as one of another API would be.
class DriverOnlyEvent {
 public:
  explicit DriverOnlyEvent(const InterposerFixture& fixture)
      : event_(sim::Driver::table().clCreateUserEvent(fixture.context, nullptr)) {}
  DriverOnlyEvent(const DriverOnlyEvent&) = delete;
  DriverOnlyEvent& operator=(const DriverOnlyEvent&) = delete;
  ~DriverOnlyEvent() { sim::Driver::table().clReleaseEvent(event_); }
  cl_event get() const { return event_; }
  void open(cl_int status = CL_COMPLETE) { sim::Driver::table().clSetUserEventStatus(event_, status); }

 private:
  cl_event event_;
};

// What a callback received.
struct CallbackLog {
  CallbackLog() = default;
  CallbackLog(const CallbackLog&) = delete;
  CallbackLog& operator=(const CallbackLog&) = delete;

  cl_event event = nullptr;
  cl_int status = 1000;
  int times = 0;
  const kit::Setup::EventAction action = [this](cl_event given, cl_int with) {
    event = given;
    status = with;
    ++times;
  };
};

// A fixture of GoogleTest's. Tests whose suites are called Configured... make their fixtures themselves.
template <base::Settings (*settings)() = default_settings, sim::Options (*options)() = default_driver,
          cl_command_queue_properties properties = 0>
class InterposerTest : public testing::Test, public InterposerFixture {
 protected:
  InterposerTest() : InterposerFixture(settings(), options(), properties) {}
};

// With a kernel to launch.
template <base::Settings (*settings)() = default_settings, sim::Options (*options)() = default_driver,
          cl_command_queue_properties properties = 0>
class LaunchTest : public InterposerTest<settings, options, properties> {
 protected:
  const cl_kernel kernel = this->make_kernel();
};

// The same, once on an in-order and once on an out-of-order queue.
template <base::Settings (*settings)() = default_settings, sim::Options (*options)() = default_driver>
class QueueOrderTest : public testing::TestWithParam<cl_command_queue_properties>, public InterposerFixture {
 protected:
  QueueOrderTest() : InterposerFixture(settings(), options(), GetParam()) {}

  const cl_kernel kernel = make_kernel();
};

inline constexpr std::array<cl_command_queue_properties, 2> kQueueOrders{
    0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};

inline std::string queue_order_name(const testing::TestParamInfo<cl_command_queue_properties>& info) {
  return info.param == 0 ? "InOrder" : "OutOfOrder";
}

}  // namespace cleave
