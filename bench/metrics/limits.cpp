// How exactly limits hold, and how steady a device is: IS-001 to IS-009, but for what needs a second process.
#include <chrono>
#include <numeric>
#include <thread>

#include "bench/metrics/metrics.h"
#include "tests/kit/timing.h"

namespace metrics {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostPieces = 256;

// IS-001: what can be had in pieces of 64 MiB, in per cent of what the device says that it has: the limit, where there is one.
Values memory_accuracy(Device& device) {
  const std::size_t had = device.create_pieces(kMostPieces).size() * Device::kPiece;
  return {100 * static_cast<double>(had) / static_cast<double>(device.memory())};
}

// IS-002: the refusal of 100 MiB more than are left, in microseconds. As much is held as leaves less than a GiB.
Values refusal(Device& device) {
  const std::size_t limit = device.memory();
  const std::vector<kit::Buffer> held =
      device.create_pieces((limit - std::min(limit / 2, kGiB)) / Device::kPiece);
  const std::size_t beyond = limit - held.size() * Device::kPiece + 100 * kMiB;
  Values values;
  for (int i = 0; i < 50; ++i) {
    kit::Buffer made;
    values.push_back(kit::duration_of<std::micro>([&] { made = device.create(beyond); }));
    if (made) throw std::runtime_error("memory beyond the limit was not refused");
  }
  return values;
}

// IS-004: 1000 kernels after a rest, in milliseconds.
Values burst(Device& device) {
  Values values;
  for (int i = 0; i < std::min(10, device.repeats(60)); ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    values.push_back(kit::duration_of<std::milli>([&] {
      for (int k = 0; k < device.repeats(1000); ++k) device.launch_steady(device.units() * 4, 500);
      device.finish();
    }));
  }
  return values;
}

// IS-007: a kernel every ten milliseconds; its times in milliseconds, of which the suite takes the coefficient of variation.
Values steadiness(Device& device) {
  Values values;
  for (int i = 0; i < device.repeats(100); ++i) {
    values.push_back(kit::duration_of<std::milli>([&] {
      device.launch_steady(device.units(), 1000);
      device.finish();
    }));
    std::this_thread::sleep_for(milliseconds(10));
  }
  return values;
}

double fairness(const Values& times) {
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  const double squares = std::inner_product(times.begin(), times.end(), times.begin(), 0.0);
  return sum * sum / (static_cast<double>(times.size()) * squares);
}

// IS-008: Jain's index of the times of four queues, one after the other.
Values fairness_of_queues(Device& device) {
  constexpr std::size_t kQueues = 4;
  const std::size_t groups = std::max<std::size_t>(1, device.units() / kQueues);
  std::vector<Device::Steady> all;
  for (std::size_t i = 0; i < kQueues; ++i) all.push_back(device.another(groups, 500));
  Values values;
  for (int i = 0; i < device.repeats(50); ++i) {
    Values times;
    for (const Device::Steady& one : all) {
      times.push_back(kit::duration_of<std::milli>([&] {
        for (int k = 0; k < 25; ++k) {
          cl.check("clEnqueueNDRangeKernel",
                   cl.launch(one.queue, one.kernel, {groups * 256, std::size_t{256}}));
        }
        cl.check("clFinish", cl.clFinish(one.queue));
      }));
    }
    values.push_back(fairness(times));
  }
  return values;
}

}  // namespace

const std::vector<Metric>& limits() {
  static const std::vector<Metric> metrics = {{"IS-001", memory_accuracy},
                                              {"IS-002", refusal},
                                              {"IS-004", burst},
                                              {"IS-007", steadiness},
                                              {"IS-008", fairness_of_queues}};
  return metrics;
}

Batches isolation_batches(const Device& device) { return {device.repeats(20), 100, device.units() * 2}; }

Batches noise_batches(const Device& device) {
  return {device.repeats(20), 50, std::max<std::size_t>(1, device.units() / 2)};
}

Values time_of(Device& device, const Batches& batches) {
  Values values;
  for (int i = 0; i < batches.count; ++i) {
    values.push_back(kit::duration_of<std::milli>([&] {
      for (int k = 0; k < batches.launches; ++k) device.launch_steady(batches.groups, 500);
      device.finish();
    }));
  }
  return values;
}

Values keep_busy(const Options& options, double seconds) {
  constexpr std::size_t kLaunches = 100;  // and a finish
  Device device(options, CL_QUEUE_PROFILING_ENABLE);
  Values ends;
  cl_ulong first = 0;
  std::this_thread::sleep_for(milliseconds(100));
  for (const double until = kit::now() + seconds; kit::now() < until;) {
    std::vector<kit::Event> events;
    while (events.size() < kLaunches) events.push_back(device.launch_timed(device.units() * 4, 1000));
    device.finish();
    if (first == 0) first = cl.profiled(events.front(), CL_PROFILING_COMMAND_START);
    for (const kit::Event& event : events)
      ends.push_back(static_cast<double>(cl.profiled(event, CL_PROFILING_COMMAND_END) - first) * 1e-9);
  }
  return ends;
}

}  // namespace metrics
