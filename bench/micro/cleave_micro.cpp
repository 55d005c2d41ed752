// The cost of a call, a launch and a slice, on a driver of negligible cost. Each benchmark runs twice: on that driver alone
// ("native") and through the drop-in ("cleave"). The settings in the environment decide which launches are split and why
// others are not: bench/suite/micro.py starts this program once for each.
//
// The driver has one handle for all kernels, so there is one kernel in a run: `plain` may be split, `seer` depends on the
// launch's size.
//
// usage: CLEAVE_SIM=zero CLEAVE_NEXT=DRIVER cleave_micro DRIVER DROP_IN plain|seer [Google Benchmark's
// options]
// The vendor library in place of the drop-in, with CLEAVE_ICD_WRAP=DRIVER in place of CLEAVE_NEXT, works as
// well.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

// Counts every allocation of the process, also those in the drop-in with its own C++ runtime.
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* __libc_realloc(void* old, std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);
static std::atomic<std::size_t> allocations{0};
extern "C" __attribute__((visibility("default"))) void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
extern "C" __attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
extern "C" __attribute__((visibility("default"))) void* realloc(void* old, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}
extern "C" __attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment,
                                                                      std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}

namespace {

constexpr const char* kPlain = "kernel void plain(global int* data) { data[get_global_id(0)] = 1; }";
constexpr const char* kSeer = "kernel void seer(global int* data) { data[get_group_id(0)] = 1; }";

cl_icd_dispatch table_of(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return kit::opened_table(library);
}

// One way to the driver: the functions of one library, and a program's objects.
struct Side {
  Side(const char* path, const char* source)
      : cl(table_of(path), kit::throw_error),
        device(cl.device_of()),
        context(cl.context(device)),
        queue(cl.queue(context, device)),
        program(cl.build(context, source)),
        long_program(cl.build(context, source + std::string(64 << 10U, ' '))),
        kernel(cl.kernel(program, "zero")) {}  // the name that the driver gives its one kernel

  kit::Api cl;
  cl_device_id device;
  kit::Context context;
  kit::Queue queue;
  kit::Program program;
  kit::Program long_program;
  kit::Kernel kernel;
};

void forwarded(benchmark::State& state, const Side& side) {
  const cl_mem nothing = nullptr;
  for (auto _ : state)
    benchmark::DoNotOptimize(side.cl.clSetKernelArg(side.kernel, 0, sizeof nothing, &nothing));
}

// As libraries do that make one for each call, from programs as long as theirs.
void kernel_objects(benchmark::State& state, const Side& side) {
  for (auto _ : state) {
    cl_int error = CL_SUCCESS;
    side.cl.clReleaseKernel(side.cl.clCreateKernel(side.long_program, "zero", &error));
  }
}

void finish(benchmark::State& state, const Side& side) {
  for (auto _ : state) benchmark::DoNotOptimize(side.cl.clFinish(side.queue));
}

void gated(benchmark::State& state, const Side& side) {
  for (auto _ : state)
    benchmark::DoNotOptimize(side.cl.clEnqueueMarkerWithWaitList(side.queue, 0, nullptr, nullptr));
}

enum class Wants { nothing, event, event_and_release };

void launches(benchmark::State& state, const Side& side, Wants wants) {
  double& allocated = state.counters["allocations"].value;  // made before anything is counted
  const std::size_t global = 1 << 19;
  const std::size_t local = 64;
  const std::size_t before = allocations.load();
  for (auto _ : state) {
    cl_event event = nullptr;
    benchmark::DoNotOptimize(side.cl.clEnqueueNDRangeKernel(side.queue, side.kernel, 1, nullptr, &global,
                                                            &local, 0, nullptr,
                                                            wants != Wants::nothing ? &event : nullptr));
    if (wants == Wants::event_and_release) side.cl.clReleaseEvent(event);
  }
  allocated = static_cast<double>(allocations.load() - before);
}

// As after a driver's work for the launch before: little of Cleave's code and data is left in the processor's own caches, whose
// contents are these bytes.
void cold_launches(benchmark::State& state, const Side& side) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kLine = 64;
  static std::vector<unsigned char> others(std::size_t{4} << 20U);
  const std::size_t global = 1 << 19;
  const std::size_t local = 64;
  for (auto _ : state) {
    for (std::size_t i = 0; i < others.size(); i += kLine) ++others[i];
    benchmark::ClobberMemory();
    benchmark::DoNotOptimize(Clock::now());  // the clock itself is not cold
    const Clock::time_point begin = Clock::now();
    benchmark::DoNotOptimize(side.cl.clEnqueueNDRangeKernel(side.queue, side.kernel, 1, nullptr, &global,
                                                            &local, 0, nullptr, nullptr));
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
  }
}

void register_side(const std::string& name, const Side& side) {
  const auto add = [&](const char* what, auto run) {
    return benchmark::RegisterBenchmark((std::string(what) + "/" + name).c_str(), run);
  };
  add("forwarded", [&side](benchmark::State& state) { forwarded(state, side); });
  add("kernel_object", [&side](benchmark::State& state) { kernel_objects(state, side); });
  add("finish", [&side](benchmark::State& state) { finish(state, side); });
  add("gated", [&side](benchmark::State& state) { gated(state, side); });
  add("launch", [&side](benchmark::State& state) { launches(state, side, Wants::nothing); });
  // By number, since emptying the caches takes a thousand times as long as what is measured.
  add("launch_cold", [&side](benchmark::State& state) { cold_launches(state, side); })
      ->UseManualTime()
      ->Iterations(300);
  add("launch_event", [&side](benchmark::State& state) { launches(state, side, Wants::event_and_release); });
  add("launch_event_kept", [&side](benchmark::State& state) { launches(state, side, Wants::event); });
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) throw std::runtime_error("usage: cleave_micro DRIVER DROP_IN plain|seer [options]");
  const char* const source = std::string(argv[3]) == "seer" ? kSeer : kPlain;
  const Side native(argv[1], source);
  const Side warm(argv[2], source);
  const std::size_t before = allocations.load();
  const Side cleave(argv[2], source);
  // Cleave copies the text of a program. If that were not counted, a count of 0 would prove nothing.
  if (allocations.load() == before) throw std::runtime_error("the drop-in's allocations are not counted");
  register_side("native", native);
  register_side("cleave", cleave);
  argv[3] = argv[0];
  argc -= 3;
  argv += 3;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "cleave_micro: %s\n", error.what());
  return 1;
}
