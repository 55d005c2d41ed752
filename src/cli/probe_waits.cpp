#include <chrono>
#include <cmath>
#include <ctime>

#include "cli/installation.h"
#include "cli/probe.h"
#include "cli/probe_opencl.h"
#include "cli/probe_program.h"

namespace cleave::cli {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::duration<double, std::milli>;

// One work-item that is busy for as long as it is told.
constexpr const char* kBusy =
    "__kernel void cleave_busy(__global uint* out, uint rounds) {\n"
    "  uint x = out[0];\n"
    "  for (uint i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u + i;\n"
    "  out[0] = x;\n"
    "}\n";

// Drivers spin for a moment before they sleep; a wait of that length is beyond it.
constexpr Time long_enough = 20ms;
constexpr Time too_long = 3s;
constexpr cl_uint first_rounds = 1 << 12;
constexpr cl_uint most_rounds = 1U << 30;

Time processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

struct Waited {
  Time wall{0};
  Time processor{0};
};

class Waiter {
 public:
  Waiter(const OpenClLibrary& library, const PlatformAndDevice& where)
      : library_(library), prepared_(prepare(library, where.platform, where.device, kBusy, "cleave_busy")) {
    cl_int error = CL_SUCCESS;
    buffer_ = CLEAVE_CLI_FIND(library, clCreateBuffer)(prepared_.context, CL_MEM_READ_WRITE, sizeof(cl_uint),
                                                       nullptr, &error);
    require(error, "clCreateBuffer");
    require(CLEAVE_CLI_FIND(library, clSetKernelArg)(prepared_.kernel, 0, sizeof(cl_mem), &buffer_),
            "clSetKernelArg");
  }

  Waited wait(cl_uint rounds) const {
    const std::size_t one = 1;
    require(CLEAVE_CLI_FIND(library_, clSetKernelArg)(prepared_.kernel, 1, sizeof rounds, &rounds),
            "clSetKernelArg");
    require(CLEAVE_CLI_FIND(library_, clEnqueueNDRangeKernel)(prepared_.queue, prepared_.kernel, 1, nullptr,
                                                              &one, nullptr, 0, nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    require(CLEAVE_CLI_FIND(library_, clFlush)(prepared_.queue), "clFlush");
    const auto start = std::chrono::steady_clock::now();
    const Time before = processor_time();
    require(CLEAVE_CLI_FIND(library_, clFinish)(prepared_.queue), "clFinish");
    return {std::chrono::steady_clock::now() - start, processor_time() - before};
  }

 private:
  const OpenClLibrary& library_;
  Prepared prepared_;
  cl_mem buffer_ = nullptr;
};

}  // namespace

int probe_waits(unsigned platform, unsigned device) {
  answer_and_leave([&](const Answer& answer) {
    const OpenClLibrary library(find_installation().drop_in);
    const PlatformAndDevice where = device_at(library, platform, device);
    if (!has_compiler(library, where.device)) {
      answer.tell({"no-compiler"});
      return;
    }
    const Waiter waiter(library, where);
    Waited waited;
    Time all{0};
    for (cl_uint rounds = first_rounds; rounds < most_rounds && all < too_long; rounds *= 4) {
      waited = waiter.wait(rounds);
      all += waited.wall;
      if (waited.wall >= long_enough) break;
    }
    if (waited.wall < long_enough) throw ProbeFailure("no kernel there takes long enough");
    const auto share = std::lround(waited.processor / waited.wall * 100);
    answer.tell({"waits", std::to_string(static_cast<int>(waited.wall.count())), std::to_string(share)});
  });
}

}  // namespace cleave::cli
