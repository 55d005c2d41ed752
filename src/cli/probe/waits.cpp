#include <chrono>
#include <cmath>
#include <ctime>

#include "cli/probe/opencl_library.h"
#include "cli/probe/probe.h"
#include "cli/probe/test_kernel.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::duration<double, std::milli>;

// One work-item that computes for `rounds` rounds.
constexpr const char* kBusy =
    "__kernel void cleave_busy(__global uint* out, uint rounds) {\n"
    "  uint x = out[0];\n"
    "  for (uint i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u + i;\n"
    "  out[0] = x;\n"
    "}\n";

// Long enough that a driver that spins only for a moment before it sleeps does not count as spinning.
constexpr Time long_enough = 20ms;
constexpr Time too_long = 3s;
constexpr cl_uint first_rounds = 1 << 12;
constexpr cl_uint most_rounds = 1U << 30;

Time processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

struct WaitMeasurement {
  Time wall{0};
  Time processor{0};
};

class WaitProbe {
 public:
  WaitProbe(const OpenClLibrary& library, const PlatformAndDevice& where)
      : library_(library),
        test_kernel_(prepare_test_kernel(library, where.platform, where.device, kBusy, "cleave_busy")) {
    cl_int error = CL_SUCCESS;
    buffer_ = CLEAVE_CLI_FIND(library, clCreateBuffer)(test_kernel_.context, CL_MEM_READ_WRITE,
                                                       sizeof(cl_uint), nullptr, &error);
    require(error, "clCreateBuffer");
    require(CLEAVE_CLI_FIND(library, clSetKernelArg)(test_kernel_.kernel, 0, sizeof(cl_mem), &buffer_),
            "clSetKernelArg");
  }

  WaitMeasurement wait(cl_uint rounds) const {
    const std::size_t one = 1;
    require(CLEAVE_CLI_FIND(library_, clSetKernelArg)(test_kernel_.kernel, 1, sizeof rounds, &rounds),
            "clSetKernelArg");
    require(CLEAVE_CLI_FIND(library_, clEnqueueNDRangeKernel)(test_kernel_.queue, test_kernel_.kernel, 1,
                                                              nullptr, &one, nullptr, 0, nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    require(CLEAVE_CLI_FIND(library_, clFlush)(test_kernel_.queue), "clFlush");
    const auto start = std::chrono::steady_clock::now();
    const Time before = processor_time();
    require(CLEAVE_CLI_FIND(library_, clFinish)(test_kernel_.queue), "clFinish");
    return {std::chrono::steady_clock::now() - start, processor_time() - before};
  }

 private:
  const OpenClLibrary& library_;
  TestKernel test_kernel_;
  cl_mem buffer_ = nullptr;
};

}  // namespace

int probe_waits(unsigned platform, unsigned device) {
  run_probe_and_exit([&](const RecordWriter& writer) {
    const OpenClLibrary library(find_installation().drop_in);
    const PlatformAndDevice where = device_at(library, platform, device);
    if (!has_compiler(library, where.device)) {
      writer.write({"no-compiler"});
      return;
    }
    const WaitProbe waiter(library, where);
    WaitMeasurement waited;
    Time all{0};
    for (cl_uint rounds = first_rounds; rounds < most_rounds && all < too_long; rounds *= 4) {
      waited = waiter.wait(rounds);
      all += waited.wall;
      if (waited.wall >= long_enough) break;
    }
    if (waited.wall < long_enough) throw ProbeError("no kernel takes long enough on this device");
    const auto share = std::lround(waited.processor / waited.wall * 100);
    writer.write({"waits", std::to_string(static_cast<int>(waited.wall.count())), std::to_string(share)});
  });
}

}  // namespace cleave::cli
