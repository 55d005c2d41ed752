// What calls cost: OH-001 to OH-010.
#include <ctime>
#include <numeric>
#include <thread>

#include "bench/metrics/metrics.h"
#include "tests/kit/timing.h"

namespace metrics {
namespace {

double mean(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void check_allocated(const kit::Buffer& buffer) {
  if (!buffer) throw std::runtime_error("a buffer was refused");
}

// OH-001. The smallest kernel and its finish, in microseconds.
Values launch_latency(Device& device) {
  for (int i = 0; i < 100; ++i) device.launch_empty();
  device.finish();
  Values values;
  for (int i = 0; i < device.repeats(1000); ++i) {
    values.push_back(kit::duration_of<std::micro>([&] {
      device.launch_empty();
      device.finish();
    }));
  }
  return values;
}

// OH-002, in microseconds. A buffer and its migration to the device, since drivers put the allocation off to that.
Values allocation_latency(Device& device) {
  Values values;
  for (const std::size_t bytes : {kMiB / 1024, kMiB / 16, kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB}) {
    for (int i = 0; i < device.repeats(100); ++i) {
      kit::Buffer made;
      values.push_back(kit::duration_of<std::micro>([&] { made = device.allocate(bytes); }));
      check_allocated(made);
    }
  }
  return values;
}

// OH-003, in microseconds.
Values release_latency(Device& device) {
  Values values;
  for (const std::size_t bytes : {kMiB, 16 * kMiB, 64 * kMiB}) {
    for (int i = 0; i < device.repeats(100); ++i) {
      kit::Buffer made = device.allocate(bytes);
      check_allocated(made);
      values.push_back(kit::duration_of<std::micro>([&] { made.reset(); }));
    }
  }
  return values;
}

// OH-004: a context, a queue, and a buffer that is released, in microseconds.
Values context_creation(Device& device) {
  Values values;
  for (int i = 0; i < device.repeats(20); ++i) {
    values.push_back(kit::duration_of<std::micro>([&] {
      const kit::Context context = cl.context(device.id());
      const kit::Queue queue = cl.queue(context, device.id());
      const kit::Buffer buffer = cl.buffer(context, 1024);
      cl.check("clEnqueueMigrateMemObjects",
               cl.clEnqueueMigrateMemObjects(queue, 1, buffer.list(), CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED,
                                             0, nullptr, nullptr));
      cl.check("clFinish", cl.clFinish(queue));
    }));
  }
  return values;
}

// OH-005: a call that does next to nothing, in nanoseconds, with the reading of the clock.
Values small_call(Device& device) {
  Values values;
  for (int i = 0; i < 1000 + 10000; ++i) {
    cl_device_type type = 0;
    const double took = kit::duration_of<std::nano>(
        [&] { cl.clGetDeviceInfo(device.id(), CL_DEVICE_TYPE, sizeof type, &type, nullptr); });
    if (i >= 1000) values.push_back(took);
  }
  return values;
}

// OH-006: allocations of eight threads at a time, in microseconds.
Values contended_allocation(Device& device) {
  constexpr std::size_t kThreads = 8;
  const int repeats = device.repeats(50);
  std::vector<Values> found(kThreads);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (Values& own : found) {
      threads.emplace_back([&device, &own, repeats] {
        for (int i = 0; i < repeats; ++i) {
          kit::Buffer made;
          own.push_back(kit::duration_of<std::micro>([&] { made = device.create(kMiB); }));
        }
      });
    }
  }
  Values values;
  for (const Values& own : found) values.insert(values.end(), own.begin(), own.end());
  return values;
}

// OH-007: how much longer than on average a buffer takes beside a hundred others, in nanoseconds; not below 0.
Values tracking(Device& device) {
  const auto measure = [&] {
    Values values;
    for (int i = 0; i < device.repeats(100); ++i) {
      kit::Buffer made;
      values.push_back(kit::duration_of<std::nano>([&] { made = device.create(kMiB); }));
      check_allocated(made);
    }
    return values;
  };
  const double alone = mean(measure());
  std::vector<kit::Buffer> others(100);
  for (kit::Buffer& other : others) other = device.create(kMiB);
  Values values = measure();
  for (double& value : values) value = std::max(0.0, value - alone);
  return values;
}

// OH-008: launches of 1 to 512 groups of 32 to 512 items that are not waited for, in nanoseconds.
Values launches(Device& device) {
  Values values;
  for (const std::size_t groups : {1, 32, 128, 512}) {
    for (const std::size_t local : {32, 128, 256, 512}) {
      for (int i = 0; i < 1000 / 16; ++i)
        values.push_back(kit::duration_of<std::nano>([&] { device.launch_scaling(groups, local); }));
      device.finish();
    }
  }
  return values;
}

double processor_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// OH-009: the processor time of a second in which the program rests, in per cent.
Values resting(Device& device) {
  Values values;
  for (int i = 0; i < std::min(5, device.repeats(20)); ++i) {
    const double used = processor_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    values.push_back(100 * (processor_seconds() - used));
  }
  return values;
}

// OH-010: 4 MiB, a hundred kernels and their end, in milliseconds; the suite compares it with the native time.
Values work(Device& device) {
  Values values;
  for (int i = 0; i < device.repeats(100); ++i) {
    values.push_back(kit::duration_of<std::milli>([&] {
      const kit::Buffer temporary = device.allocate(4 * kMiB);
      check_allocated(temporary);
      for (int k = 0; k < 100; ++k) device.launch_steady(device.units() * 2, 50);
      device.finish();
    }));
  }
  return values;
}

}  // namespace

const std::vector<Metric>& overheads() {
  static const std::vector<Metric> metrics = {{"OH-001", launch_latency},  {"OH-002", allocation_latency},
                                              {"OH-003", release_latency}, {"OH-004", context_creation},
                                              {"OH-005", small_call},      {"OH-006", contended_allocation},
                                              {"OH-007", tracking},        {"OH-008", launches},
                                              {"OH-009", resting},         {"OH-010", work}};
  return metrics;
}

}  // namespace metrics
