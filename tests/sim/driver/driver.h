// A complete OpenCL 3.0 driver that needs no device: deterministic, on virtual time, with a log of every call
// and faults on demand.
//
//   sim::Driver driver;
//   driver.kernel("add", [](sim::Execution& e) { ... });       // what the kernel of that name does
//   driver.fail("clEnqueueNDRangeKernel", 2, CL_OUT_OF_RESOURCES);
//   const cl_icd_dispatch& cl = driver.table();
//   ... cl.clEnqueueNDRangeKernel(...) ...
//   EXPECT_EQ(driver.launches().size(), 3u);
//
// Time. Nothing takes real time. The clock moves when a thread sleeps on `clock()`, when a wait (clFinish,
// clWaitForEvents, a blocking call) jumps to the completion it waits for, and by Options::enqueue_cost in
// each enqueue. Commands run while it moves: each has the times QUEUED, SUBMIT, START and END, and its data
// effect happens at END, so that a wrong order shows as wrong data. Of several commands that could start, the
// one that has been ready for longest does. Several threads share the one clock; their sleeps add up.
//
// A wait that nothing can end (a user event that is never set, a queue that is never flushed) waits Options::hang_timeout
// of real time for another thread, then returns CL_OUT_OF_RESOURCES and `hung()` is true.
//
// Threads. All functions, and the table's, may be called from any thread. Kernel bodies, costs and native
// kernels run under the driver's lock and must not call OpenCL, nor the Driver except for its clock. Event
// and destructor callbacks run without the lock, on whichever thread moved time past them or released the
// object.
//
// Ownership. One Driver at a time is current in a process: the constructor makes it so and ends the program
// if there is one already. It must outlive every call through the table; afterwards the table's functions
// return CL_OUT_OF_RESOURCES. Ask `live_total()` first if nothing should be left: the destructor frees
// everything silently.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "tests/sim/driver/execution.h"
#include "tests/sim/driver/options.h"
#include "tests/sim/driver/types.h"

namespace cleave::sim {

class DriverState;

class Driver {
 public:
  using Options = sim::Options;
  using Body = std::function<void(Execution&)>;
  using Cost = std::function<Nanoseconds(const Launch&)>;

  Driver();
  explicit Driver(Options options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const Options& options() const;

  // Every function of src/opencl/functions.def. The same table for all drivers.
  static const cl_icd_dispatch& table();

  // The handles that clGetPlatformIDs and clGetDeviceIDs give, without the discovery calls.
  cl_platform_id platform() const;
  cl_device_id device(std::size_t index = 0) const;

  base::Clock& clock();

  // Lets time pass until nothing can happen any more without a call from outside.
  void run_until_idle();

  // What launches of kernels of that name do, and how long they take. A kernel without a body does nothing
  // but take its time. May be set and replaced at any time; a launch uses the body of its END and the cost of
  // its START.
  void kernel(std::string_view name, Body body);
  void cost(std::string_view name, Cost cost);

  // What clGetExtensionFunctionAddress(ForPlatform) answers for `name`.
  void extension(std::string_view name, void* function);

  // The `nth` call from now (1 is the next) of `function` does nothing and returns `code`. Several may be
  // set; all count from when they were set. Ends the program if there is no such function: a misspelt fault
  // proves nothing.
  void fail(std::string_view function, unsigned nth, cl_int code);
  // The `nth` launch of `kernel` that starts from now on ends with `status` (negative) and without its
  // effect.
  void fail_execution(std::string_view kernel, unsigned nth, cl_int status);
  // Faults of either sort that have not come to pass.
  std::size_t faults_left() const;

  // Copies of what happened so far. `executions` has the launches in the order in which they started.
  std::vector<Call> log() const;
  std::vector<Launch> launches() const;
  std::vector<Launch> executions() const;
  // Calls of `function` since the beginning or the last `forget`.
  std::size_t count(std::string_view function) const;
  // Empties log, launches, executions and counts. Ids go on counting.
  void forget();
  // Called with each call as it returns, under the driver's lock, in place of keeping a log if
  // Options::quiet.
  void on_call(std::function<void(const Call&)> observer);

  // Objects that are alive, by kind: referenced by the program, by each other or by a command in flight. The
  // platform and its root devices do not count.
  std::size_t live(Kind kind) const;
  std::size_t live_total() const;
  // Their names as in the log, sorted: "event#3".
  std::vector<std::string> live_objects() const;

  // Calls with a handle to which the program had no reference left, or of an object that is gone: "clGetDeviceInfo: device#2".
  std::vector<std::string> uses_of_released() const;

  // The id of a live object within its kind, as in launches and in the log; 0 for any other pointer.
  std::uint64_t id(const void* handle) const;

  // Some wait could never end and was given up.
  bool hung() const;

 private:
  std::unique_ptr<DriverState> state_;
};

}  // namespace cleave::sim
