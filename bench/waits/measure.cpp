#include "measure.h"

#include <CL/cl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

namespace waits {
namespace {

constexpr std::size_t kItems = 1U << 18U;
constexpr std::size_t kGroup = 64;

constexpr const char* kSource = R"(
kernel void spin(global uint* out, ulong steps) {
  uint x = (uint)get_global_id(0);
  for (ulong i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;
  out[get_global_id(0)] = x;
}
)";

void check(cl_int error, const char* what) {
  if (error != CL_SUCCESS) throw std::runtime_error(std::string(what) + ": error " + std::to_string(error));
}

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
double now() { return seconds_of(CLOCK_MONOTONIC); }

cl_device_id find_device(const std::string& wanted) {
  std::array<cl_platform_id, 16> platforms{};
  cl_uint count = 0;
  check(clGetPlatformIDs(platforms.size(), platforms.data(), &count), "clGetPlatformIDs");
  for (cl_uint i = 0; i < std::min<cl_uint>(count, platforms.size()); ++i) {
    std::array<char, 256> name{};
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, name.size() - 1, name.data(), nullptr);
    cl_device_id device = nullptr;
    if (std::string(name.data()).find(wanted) != std::string::npos &&
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS) {
      return device;
    }
  }
  throw std::runtime_error("no platform has '" + wanted + "' in its name");
}

// The process ends soon after, so nothing is released.
class Device {
 public:
  explicit Device(const std::string& platform) {
    cl_device_id device = find_device(platform);
    cl_int error = CL_SUCCESS;
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    check(error, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &error);
    check(error, "clCreateCommandQueue");
    const char* source = kSource;
    cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    check(error, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
    kernel_ = clCreateKernel(program, "spin", &error);
    check(error, "clCreateKernel");
    out_ = clCreateBuffer(context, CL_MEM_READ_WRITE, kItems * sizeof(cl_uint), nullptr, &error);
    check(error, "clCreateBuffer");
    check(clSetKernelArg(kernel_, 0, sizeof out_, &out_), "clSetKernelArg");
    launch(1);
    check(clFinish(queue), "clFinish");
  }

  void launch(std::size_t steps, cl_event* event = nullptr) {
    const cl_ulong argument = steps;
    check(clSetKernelArg(kernel_, 1, sizeof argument, &argument), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel_, 1, nullptr, &kItems, &kGroup, 0, nullptr, event),
          "clEnqueueNDRangeKernel");
  }

  void read() {
    cl_uint one = 0;
    check(clEnqueueReadBuffer(queue, out_, CL_TRUE, 0, sizeof one, &one, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }

  cl_command_queue queue = nullptr;

 private:
  cl_kernel kernel_ = nullptr;
  cl_mem out_ = nullptr;
};

double time_of(Device& device, std::size_t steps) {
  const double start = now();
  device.launch(steps);
  check(clFinish(device.queue), "clFinish");
  return now() - start;
}

void wait_for_event(Device& device, std::size_t steps) {
  cl_event event = nullptr;
  device.launch(steps, &event);
  check(clWaitForEvents(1, &event), "clWaitForEvents");
  clReleaseEvent(event);
}

// How much later than the watcher this thread noticed the end.
double one_lateness(Device& device, std::size_t steps) {
  cl_event event = nullptr;
  device.launch(steps, &event);
  std::atomic<double> seen{0};
  std::jthread watcher([&] {
    cl_int status = CL_QUEUED;
    while (status > CL_COMPLETE) {
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    }
    seen = now();
  });
  check(clFinish(device.queue), "clFinish");
  const double returned = now();
  watcher.join();
  clReleaseEvent(event);
  return returned - seen;
}

}  // namespace

void calibrate(const std::string& platform, double seconds) {
  Device device(platform);
  std::size_t steps = 64;
  double took = time_of(device, steps);
  while (took < 0.05) took = time_of(device, steps *= 2);
  took = time_of(device, steps);  // the clocks are up by now
  std::printf("%zu\n", static_cast<std::size_t>(static_cast<double>(steps) * seconds / took));
}

void costs(const std::string& platform, std::size_t steps, unsigned warm_up) {
  Device device(platform);
  for (unsigned i = 0; i < warm_up; ++i) time_of(device, steps / 50);
  const auto measure = [](const char* name, const auto& action) {
    const double start = now();
    const double thread = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    const double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    action();
    std::printf("%s %.6f %.6f %.6f\n", name, now() - start, seconds_of(CLOCK_THREAD_CPUTIME_ID) - thread,
                seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process);
  };
  measure("clFinish", [&] { time_of(device, steps); });
  measure("clWaitForEvents", [&] { wait_for_event(device, steps); });
  measure("clEnqueueReadBuffer", [&] {
    device.launch(steps);
    device.read();
  });
}

void lateness(const std::string& platform, std::size_t steps, unsigned repeats) {
  Device device(platform);
  for (const unsigned share : {5000U, 1000U, 300U, 100U, 10U}) {
    const std::size_t own = std::max<std::size_t>(steps / share, 1);
    double length = 0;
    std::vector<double> late;
    for (unsigned i = 0; i < repeats; ++i) {
      length = std::max(length, 0.0) + time_of(device, own) / repeats;
      late.push_back(one_lateness(device, own));
    }
    std::sort(late.begin(), late.end());
    std::printf("%.6f %.7f %.7f\n", length, late[late.size() / 2], late.back());
  }
}

}  // namespace waits
