#include "measure.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"
#include "tests/kit/timing.h"

namespace waits {
namespace {

using kit::now;

constexpr std::size_t kItems = 1U << 18U;
constexpr std::size_t kGroup = 64;

constexpr const char* kSource = R"(
kernel void spin(global uint* out, ulong steps) {
  uint x = (uint)get_global_id(0);
  for (ulong i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;
  out[get_global_id(0)] = x;
}
)";

const kit::Api cl(kit::linked_table(), kit::throw_error);

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

cl_device_id find_device(const std::string& wanted) {
  const cl_device_id device = cl.device_of(wanted);
  if (device == nullptr) throw std::runtime_error("no platform has '" + wanted + "' in its name");
  return device;
}

class Device {
 public:
  explicit Device(const std::string& platform) : context_(cl.context(find_device(platform))) {
    launch(1);
    finish();
  }

  void launch(std::size_t steps, cl_event* event = nullptr) const {
    cl.check("clSetKernelArg", cl.set_argument(kernel_, 1, cl_ulong{steps}));
    cl.check("clEnqueueNDRangeKernel", cl.launch(queue_, kernel_, {kItems, kGroup}, {}, event));
  }

  void read() const { static_cast<void>(cl.read<cl_uint>(queue_, out_, 1)); }
  void finish() const { cl.check("clFinish", cl.clFinish(queue_)); }

 private:
  kit::Context context_;
  kit::Queue queue_ = cl.queue(context_, cl.info<cl_device_id>(context_, CL_CONTEXT_DEVICES));
  kit::Program program_ = cl.build(context_, kSource);
  kit::Buffer out_ = cl.buffer(context_, kItems * sizeof(cl_uint));
  kit::Kernel kernel_ = cl.kernel(program_, "spin", out_);
};

double time_of(const Device& device, std::size_t steps) {
  return kit::duration_of([&] {
    device.launch(steps);
    device.finish();
  });
}

void wait_for_event(const Device& device, std::size_t steps) {
  kit::Event event = cl.event();
  device.launch(steps, event.out());
  cl.check("clWaitForEvents", cl.wait({event}));
}

// How much later than the watcher this thread noticed the end.
double one_lateness(const Device& device, std::size_t steps) {
  kit::Event event = cl.event();
  device.launch(steps, event.out());
  std::atomic<double> seen{0};
  std::jthread watcher([&] {
    while (cl.status(event) > CL_COMPLETE) continue;
    seen = now();
  });
  device.finish();
  const double returned = now();
  watcher.join();
  return returned - seen;
}

}  // namespace

void calibrate(const std::string& platform, double seconds) {
  const Device device(platform);
  std::size_t steps = 64;
  double took = time_of(device, steps);
  while (took < 0.05) took = time_of(device, steps *= 2);
  took = time_of(device, steps);  // the clocks are up by now
  std::printf("%zu\n", static_cast<std::size_t>(static_cast<double>(steps) * seconds / took));
}

void costs(const std::string& platform, std::size_t steps, unsigned warm_up) {
  const Device device(platform);
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
  const Device device(platform);
  for (const unsigned share : {5000U, 1000U, 300U, 100U, 10U}) {
    const std::size_t own = std::max<std::size_t>(steps / share, 1);
    double length = 0;
    std::vector<double> late;
    for (unsigned i = 0; i < repeats; ++i) {
      length = std::max(length, 0.0) + time_of(device, own) / repeats;
      late.push_back(one_lateness(device, own));
    }
    std::printf("%.6f %.7f %.7f\n", length, kit::median(late), *std::max_element(late.begin(), late.end()));
  }
}

}  // namespace waits
