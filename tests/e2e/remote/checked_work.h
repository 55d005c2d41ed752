// Small pieces of varied work for the programs that lose their server in the middle of it. Each result is
// checked: wrong data, or an error that does not say that the device is gone, ends the process with the
// status kWrong at once. The error that does is thrown as Lost. How long each call took is noted: none may
// hang.
//
// Thread-safe, but for a Rig: each thread works with its own queue and kernel.
#pragma once

#include <CL/cl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace work {

constexpr int kWrong = 3;

struct DeviceLost {
  const char* call;
  cl_int error;
};

using Random = std::mt19937;

[[noreturn]] void wrong(const char* call, const std::string& what);

// The call that took longest until now.
struct SlowestCall {
  const char* call = "none";
  double milliseconds = 0;
};
SlowestCall slowest_call();
void note_duration(const char* call, std::chrono::steady_clock::time_point begun);

// What a call gives, when it took as long as it took.
template <typename Call>
auto timed(const char* name, Call call) {
  const auto begun = std::chrono::steady_clock::now();
  const auto result = call();
  note_duration(name, begun);
  return result;
}

// Throws where the device is gone.
void require(const char* call, cl_int error);

template <typename Call>
void did(const char* name, Call call) {
  require(name, timed(name, call));
}

// For functions that give a handle, or a pointer: call(&error).
template <typename Call>
auto made(const char* name, Call call) {
  cl_int error = CL_SUCCESS;
  const auto handle = timed(name, [&] { return call(&error); });
  require(name, error);
  if (handle == nullptr) wrong(name, "nothing, and no error");
  return handle;
}

template <auto kRelease>
struct Releases {
  template <typename Handle>
  void operator()(Handle handle) const {
    const cl_int error = timed("a release", [&] { return kRelease(handle); });
    if (error != CL_SUCCESS) wrong("a release", "error " + std::to_string(error));
  }
};
template <typename Handle, auto kRelease>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Releases<kRelease>>;

using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Memory = Owned<cl_mem, clReleaseMemObject>;
using Program = Owned<cl_program, clReleaseProgram>;
using Kernel = Owned<cl_kernel, clReleaseKernel>;
using Event = Owned<cl_event, clReleaseEvent>;

// The first device of the first platform; both are cached, and may not be lost.
cl_device_id first_device();

// What one thread works with. Several may share a context.
struct Rig {
  explicit Rig(cl_device_id the_device);
  Rig(cl_device_id the_device, const Rig& other);  // in the context of the other

  cl_device_id device;
  std::shared_ptr<std::remove_pointer_t<cl_context>> context;
  Queue queue;
  Program program;
  Kernel add;  // (global uint* data, uint n): data[i] += n
};

// A few numbers come, are added to, and are right.
void add_up(const Rig& rig, Random& random);
// One of all kinds of steps.
void random_step(const Rig& rig, Random& random);

// On a rig whose connection has ended: every call fails, and says so.
void expect_all_lost(const Rig& rig);

}  // namespace work
