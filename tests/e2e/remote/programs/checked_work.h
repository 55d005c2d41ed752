// Small steps of random work for programs that lose their server while they work. Every result is checked: wrong data, or
// an error that does not mean that the device is lost, ends the process with the status kWrong at once. The error that
// does is thrown as DeviceLost. The duration of every call is recorded: none may hang.
//
// Thread-safe, but for a Worker: each thread works with its own queue and kernel.
#pragma once

#include <CL/cl.h>

#include <memory>
#include <random>
#include <string>

#include "tests/kit/opencl.h"

namespace work {

constexpr int kWrong = 3;

struct DeviceLost {
  const char* call;
  cl_int error;
};

using Random = std::mt19937;

// Every function of this table is timed. Releases must succeed, and functions that create something return it or an error.
const kit::Api& cl();

// For what returns a status: throws if the device is lost. The call is the thread's last.
void check(cl_int error);

[[noreturn]] void fail(const std::string& call, const std::string& problem);

// The call that took longest so far.
struct SlowestCall {
  const char* call = "none";
  double milliseconds = 0;
};
SlowestCall slowest_call();

// The first device of the first platform, or null; both are cached, and cannot be lost.
cl_device_id first_device();

// The objects of one thread. Several may share a context.
struct Worker {
  explicit Worker(cl_device_id the_device);
  Worker(cl_device_id the_device, const Worker& other);  // in the context of the other

  cl_device_id device;
  std::shared_ptr<kit::Context> context;
  kit::Queue queue;
  kit::Program program;
  kit::Kernel add;  // (global uint* data, uint n): data[i] += n
};

// Adds to a few numbers, and checks the sums.
void add_and_check(const Worker& worker, Random& random);
// One of all kinds of steps.
void random_step(const Worker& worker, Random& random);

// With a worker whose connection has ended: every call returns CL_DEVICE_NOT_AVAILABLE.
void expect_all_lost(const Worker& worker);

}  // namespace work
