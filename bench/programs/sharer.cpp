// One of several processes that share a device. It does not depend on Cleave.
//
//   sharer calibrate WAVES MS [WAVES MS ...]    how many steps a kernel of so many waves takes for so long
//   sharer job WAVES STEPS                      launches a kernel and waits for it, without a pause
//   sharer overlap WAVES STEPS MS               launches one without an event, computes for MS, then waits for it
//   sharer client KIND STEPS SECONDS            asks about every 10 ms for a little work; KIND: see kKinds
//   sharer timed WAVES STEPS                    like a job, and says what each launch took by event profiling
//   sharer ahead WAVES STEPS                    like a job, but launches each kernel before it waits for the one before
//   sharer allocations [BYTES]                  what it takes to create a small buffer, and to refuse one of so many bytes, which must be refused,
//                                               else one beyond the device's memory, which a driver may accept
//   sharer holds BYTES                          has a buffer of so many, and does nothing more
//   sharer idle                                 has launched once, and does nothing more
//   sharer launches                             what launches of the smallest kernel cost
//
// With --platform SUBSTRING: of the platform's name; else the first GPU, or the first device.
//
// A wave is as many work-items as the device holds at a time. All but calibrate print "ready" when they have warmed up,
// begin with the next line of their standard input, print "begun", and end with the line after, or the input's end;
// client, allocations and launches end by themselves. At the end they print one line of JSON: when they began and ended (seconds of
// the steady clock), the milliseconds of processor time in between, and what they measured. The exit status is 1 if a
// result is wrong.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <optional>
#include <poll.h>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "bench/programs/plain_program.h"
#include "tests/kit/timing.h"

namespace {

constexpr std::size_t kLocal = 256;
constexpr std::size_t kItemsOfGpuUnit = 2048;
constexpr std::uint32_t kFactor = 1664525;
constexpr std::uint32_t kAddend = 1013904222;

// Every item computes, and one of each work-group writes. `never` is 0 and the values are odd, which the compiler does
// not know: so it cannot spare the other items their work.
constexpr const char* kSource = R"(
kernel void work(global uint* out, uint never, uint round, uint steps) {
  uint item = get_global_id(0);
  uint v = 2 * (item + round) + 1;
  for (uint i = 0; i < steps; ++i) v = v * 1664525u + 1013904222u;
  if (item % 256 == 0 || v == never) out[item / 256] = v;
})";

// What a client does each time: `commands` kernels, each of them waited for.
struct Kind {
  int commands;
  double think_ms;  // computed on the host after each
  bool copies;      // each between a write and a read of kCopied bytes
};
const std::map<std::string, Kind> kKinds = {{"kernel", {1, 0, false}},
                                            {"pair", {2, 0, false}},
                                            {"chain", {20, 0, false}},
                                            {"chain-host", {20, 0.05, false}},
                                            {"mix", {10, 0, true}}};
constexpr std::size_t kCopied = 64 << 10;
constexpr double kPeriodMs = 10;
constexpr std::chrono::milliseconds kSettling(200);

struct Work {
  std::size_t waves = 1;
  cl_uint steps = 1;
};

double now_ms() { return kit::now<std::milli>(); }

double processor_ms() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) * 1e-6;
}

void compute_for(double ms) {
  const double until = now_ms() + ms;
  while (now_ms() < until) {
  }
}

cl_device_id find_device(const std::string& platform) {
  const cl_device_id gpu = cl.device_of(platform, CL_DEVICE_TYPE_GPU);
  return gpu != nullptr ? gpu : choose_device(platform);
}

class Device {
 public:
  Device(const std::string& platform, std::size_t most_waves, cl_command_queue_properties properties = 0)
      : id_(find_device(platform)), most_waves_(most_waves), properties_(properties) {
    cl.check("clEnqueueFillBuffer", cl.fill(queue_, out_, cl_uint{0}, most_waves * groups_of_wave()));
    run({1, 1});
  }

  void enqueue(const Work& work) {
    set_arguments(work);
    cl.check("clEnqueueNDRangeKernel", cl.launch(queue_, kernel_, {work.waves * wave_, kLocal}));
  }
  void enqueue_group() { cl.check("clEnqueueNDRangeKernel", cl.launch(queue_, kernel_, {kLocal, kLocal})); }
  void flush() const { cl.check("clFlush", cl.clFlush(queue_)); }
  void finish() const { cl.check("clFinish", cl.clFinish(queue_)); }
  void run(const Work& work) {
    enqueue(work);
    finish();
  }
  kit::Event enqueue_with_event(const Work& work) {
    set_arguments(work);
    kit::Event event = cl.launch_event(queue_, kernel_, {work.waves * wave_, kLocal});
    flush();
    return event;
  }
  // The milliseconds that it took on the device. Requires a queue with profiling.
  double run_timed(const Work& work) {
    const kit::Event event = enqueue_with_event(work);
    cl.check("clWaitForEvents", cl.wait({event}));
    return static_cast<double>(cl.profiled(event, CL_PROFILING_COMMAND_END) -
                               cl.profiled(event, CL_PROFILING_COMMAND_START)) *
           1e-6;
  }
  void hold(std::size_t bytes) { held_ = cl.buffer(context_, bytes); }
  // Microseconds for a buffer that is created, and released if there is one; and whether there was.
  std::pair<double, bool> allocation(std::size_t size) {
    bool succeeded = false;
    const double took = kit::duration_of<std::micro>([&] {
      cl_mem const made = cl.clCreateBuffer(context_, CL_MEM_READ_WRITE, size, nullptr, nullptr);
      succeeded = made != nullptr;
      if (succeeded) cl.clReleaseMemObject(made);
    });
    return {took, succeeded};
  }
  [[nodiscard]] std::size_t memory() const { return cl.info<cl_ulong>(id_, CL_DEVICE_GLOBAL_MEM_SIZE); }
  double milliseconds(const Work& work) {
    return kit::duration_of<std::milli>([&] { run(work); });
  }

  // A kernel between two copies; waits. Whether what is read is what was written.
  bool run_between_copies(const Work& work) {
    sent_.assign(kCopied / sizeof(cl_uint), round_);
    cl.check("clEnqueueWriteBuffer",
             cl.write(queue_, copied_, kit::Blocking::no, std::span<const cl_uint>(sent_)));
    enqueue(work);
    cl.check("clEnqueueReadBuffer", cl.read(queue_, copied_, kit::Blocking::yes, std::span(received_)));
    return received_ == sent_;
  }

  // Whether the last launch, which was this one, computed a sample of the groups correctly, and every group has been
  // computed at some time.
  [[nodiscard]] bool is_right(const Work& work) const {
    const std::size_t groups = work.waves * groups_of_wave();
    const auto values = cl.read<cl_uint>(queue_, out_, groups);
    if (std::ranges::count(values, 0U) != 0) return false;
    const std::size_t step = std::max<std::size_t>(1, groups / 61);
    for (std::size_t group = 0; group < groups; group += step) {
      if (values[group] != value_of(group, work.steps)) return false;
    }
    return values.back() == value_of(groups - 1, work.steps);
  }

  [[nodiscard]] bool on_processor() const {
    return (cl.info<cl_device_type>(id_, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  }
  [[nodiscard]] std::string name() const { return cl.text(id_, CL_DEVICE_NAME); }

 private:
  void set_arguments(const Work& work) {
    ++round_;
    cl.check("clSetKernelArg", cl.set_argument(kernel_, 2, round_));
    cl.check("clSetKernelArg", cl.set_argument(kernel_, 3, work.steps));
  }
  [[nodiscard]] std::size_t items_of_wave() const {
    return cl.info<cl_uint>(id_, CL_DEVICE_MAX_COMPUTE_UNITS) * (on_processor() ? kLocal : kItemsOfGpuUnit);
  }
  [[nodiscard]] std::size_t groups_of_wave() const { return wave_ / kLocal; }
  [[nodiscard]] std::uint32_t value_of(std::size_t group, cl_uint steps) const {
    std::uint32_t value = 2 * (static_cast<std::uint32_t>(group * kLocal) + round_) + 1;
    for (cl_uint i = 0; i < steps; ++i) value = value * kFactor + kAddend;
    return value;
  }

  cl_device_id id_;
  std::size_t most_waves_;
  cl_command_queue_properties properties_;
  std::size_t wave_ = items_of_wave();
  kit::Context context_ = cl.context(id_);
  kit::Queue queue_ = cl.queue(context_, id_, properties_);
  kit::Buffer out_ = cl.buffer(context_, most_waves_* groups_of_wave() * sizeof(cl_uint));
  kit::Buffer copied_ = cl.buffer(context_, kCopied);
  kit::Program program_ = cl.build(context_, kSource);
  kit::Kernel kernel_ = cl.kernel(program_, "work", out_, cl_uint{0}, cl_uint{0}, cl_uint{1});
  kit::Buffer held_ = cl.buffer(context_, 1);
  cl_uint round_ = 0;
  std::vector<cl_uint> sent_;
  std::vector<cl_uint> received_ = std::vector<cl_uint>(kCopied / sizeof(cl_uint));
};

void print_list(const char* name, const std::vector<double>& values) {
  std::printf(R"(, "%s": [)", name);
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%s%.6f", i == 0 ? "" : ", ", values[i]);
  std::printf("]");
}

// The time between the suite's two lines. report() begins the line of JSON, end() ends it.
class Run {
 public:
  // Tells that this process is ready, waits for the first line, tells that it begins, and waits for `settling`.
  static Run begin(std::chrono::milliseconds settling = {}) {
    tell("ready");
    char line = 0;
    if (read(STDIN_FILENO, &line, 1) != 1) throw std::runtime_error("no line to begin with");
    tell("begun");
    std::this_thread::sleep_for(settling);
    return {};
  }
  static bool is_over(int wait_ms = 0) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, wait_ms) != 0;
  }
  void report() const {
    const double processor = processor_ms() - processor_at_begin_;
    std::printf(R"({"begin": %.6f, "end": %.6f, "processor": %.3f)", begin_, kit::now(), processor);
  }

 private:
  Run() = default;
  static void tell(const char* word) {
    std::puts(word);
    std::fflush(stdout);
  }

  double begin_ = kit::now();
  double processor_at_begin_ = processor_ms();
};

int end(bool is_right) {
  std::puts("}");
  return is_right ? 0 : 1;
}

cl_uint steps_for(Device& device, std::size_t waves, double ms) {
  constexpr double kMostSteps = 1e9;
  constexpr double kRepeatedMs = 10;
  double steps = 8;
  double took = 0;
  const auto measure = [&] {
    const Work work{waves, static_cast<cl_uint>(steps)};
    took = device.milliseconds(work);
    const int more = static_cast<int>(std::clamp(kRepeatedMs / took, 2.0, 50.0));
    for (int i = 0; i < more; ++i) took = std::min(took, device.milliseconds(work));
  };
  const auto scale = [&](double factor) { steps = std::clamp(steps * factor, 1.0, kMostSteps); };
  measure();
  while (took < ms / 3 && steps < kMostSteps) {
    scale(std::clamp(ms / took, 1.5, 8.0));
    measure();
  }
  for (int i = 0; i < 2; ++i) {
    scale(ms / took);
    measure();
  }
  return static_cast<cl_uint>(steps);
}

int calibrate(const std::string& platform, const std::vector<std::string>& words) {
  if (words.empty() || words.size() % 2 != 0) throw std::invalid_argument("WAVES MS");
  std::size_t most_waves = 1;
  for (std::size_t i = 0; i < words.size(); i += 2)
    most_waves = std::max(most_waves, kit::number<std::size_t>(words[i]));
  Device device(platform, most_waves);
  std::vector<double> steps;
  std::vector<double> took;
  bool right = true;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    Work work{kit::number<std::size_t>(words[i]), 1};
    work.steps = steps_for(device, work.waves, kit::number<double>(words[i + 1]));
    steps.push_back(work.steps);
    took.push_back(device.milliseconds(work));
    right = right && device.is_right(work);
  }
  std::printf(R"({"device": "%s", "on_processor": %s)", device.name().c_str(),
              device.on_processor() ? "true" : "false");
  print_list("steps", steps);
  print_list("took", took);
  return end(right);
}

// With `meanwhile`, so many milliseconds of computing between each launch and the wait for it.
int job(const std::string& platform, const Work& work, std::optional<double> meanwhile) {
  Device device(platform, work.waves);
  for (int i = 0; i < 2; ++i) device.run({std::max<std::size_t>(1, work.waves / 10), work.steps});
  const Run run = Run::begin();
  std::vector<double> ends;
  do {
    device.enqueue(work);
    if (meanwhile) {
      device.flush();
      compute_for(*meanwhile);
    }
    device.finish();
    ends.push_back(kit::now());
  } while (!Run::is_over());
  run.report();
  print_list("ends", ends);
  return end(device.is_right(work));
}

int ahead(const std::string& platform, const Work& work) {
  Device device(platform, work.waves);
  for (int i = 0; i < 2; ++i) device.run(work);
  const Run run = Run::begin();
  std::vector<double> ends;
  kit::Event before = device.enqueue_with_event(work);
  do {
    kit::Event next = device.enqueue_with_event(work);
    cl.check("clWaitForEvents", cl.wait({before}));
    ends.push_back(kit::now());
    before = std::move(next);
  } while (!Run::is_over());
  device.finish();
  run.report();
  print_list("ends", ends);
  return end(device.is_right(work));
}

int timed(const std::string& platform, const Work& work) {
  Device device(platform, work.waves, CL_QUEUE_PROFILING_ENABLE);
  for (int i = 0; i < 3; ++i) device.run(work);
  const Run run = Run::begin();
  std::vector<double> ends;
  std::vector<double> durations;
  do {
    durations.push_back(device.run_timed(work));
    ends.push_back(kit::now());
  } while (!Run::is_over());
  run.report();
  print_list("ends", ends);
  print_list("durations", durations);
  return end(device.is_right(work));
}

int holds(const std::string& platform, std::size_t bytes) {
  Device device(platform, 1);
  device.hold(bytes);
  const Run run = Run::begin();
  static_cast<void>(Run::is_over(-1));
  run.report();
  return end(device.is_right({1, 1}));
}

int allocations(const std::string& platform, std::optional<std::size_t> beyond) {
  constexpr int kTimes = 1001;
  constexpr std::size_t kSmall = 64 << 10;
  Device device(platform, 1);
  const Run run = Run::begin();
  std::vector<double> created;
  std::vector<double> refused;
  for (int i = 0; i < kTimes; ++i) {
    const auto [took, succeeded] = device.allocation(kSmall);
    if (!succeeded) throw std::runtime_error("a small buffer was refused");
    created.push_back(took);
    const auto [refusal, was_accepted] = device.allocation(beyond.value_or(device.memory() + 1));
    if (was_accepted && beyond) throw std::runtime_error("a buffer beyond the limit was not refused");
    if (!was_accepted) refused.push_back(refusal);
  }
  run.report();
  print_list("created", created);
  print_list("refused", refused);
  return end(device.is_right({1, 1}));
}

bool request(Device& device, const Kind& kind, const Work& work) {
  bool right = true;
  for (int i = 0; i < kind.commands; ++i) {
    if (kind.copies) {
      right = device.run_between_copies(work) && right;
    } else {
      device.run(work);
    }
    if (kind.think_ms > 0) compute_for(kind.think_ms);
  }
  return right;
}

int client(const std::string& platform, const Kind& kind, const Work& work, double seconds) {
  Device device(platform, work.waves);
  bool right = true;
  for (int i = 0; i < 3; ++i) right = request(device, kind, work) && right;
  std::minstd_rand random;  // the same in every run
  std::uniform_real_distribution<double> pause(0.5 * kPeriodMs, 1.5 * kPeriodMs);
  std::vector<double> waits;
  const Run run = Run::begin(kSettling);
  for (const double until = kit::now() + seconds; kit::now() < until;) {
    const double begin = now_ms();
    right = request(device, kind, work) && right;
    const double end = now_ms();
    waits.push_back(end - begin);
    // In short sleeps, so that the processor is awake when the next request comes: its wake-up is not measured.
    for (const double next = end + pause(random); now_ms() < next;)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  run.report();
  print_list("waits", waits);
  return end(device.is_right(work) && right);
}

int idle(const std::string& platform) {
  Device device(platform, 1);
  const Run run = Run::begin();
  static_cast<void>(Run::is_over(-1));
  run.report();
  return end(device.is_right({1, 1}));
}

int launches(const std::string& platform) {
  constexpr int kBatches = 21;
  constexpr int kLaunches = 200;
  Device device(platform, 1);
  const Run run = Run::begin();
  std::vector<double> enqueues;
  std::vector<double> finished;
  for (int batch = 0; batch < kBatches; ++batch) {
    enqueues.push_back(kit::duration_of<std::micro>([&] {
                         for (int i = 0; i < kLaunches; ++i) device.enqueue_group();
                       }) /
                       kLaunches);
    device.finish();
    finished.push_back(kit::duration_of<std::micro>([&] {
                         for (int i = 0; i < kLaunches; ++i) {
                           device.enqueue_group();
                           device.finish();
                         }
                       }) /
                       kLaunches);
  }
  run.report();
  print_list("enqueues", enqueues);
  print_list("finished", finished);
  return end(device.is_right({1, 1}));
}

Work work_of(const std::vector<std::string>& words) {
  std::size_t waves = 0;
  std::size_t steps = 0;
  read_numbers({words.at(1), words.at(2)}, {&waves, &steps});
  return {waves, static_cast<cl_uint>(steps)};
}

int run(const std::string& platform, const std::vector<std::string>& words) {
  const std::string& role = words.at(0);
  if (role == "calibrate") return calibrate(platform, {words.begin() + 1, words.end()});
  if (role == "job") return job(platform, work_of(words), {});
  if (role == "overlap") return job(platform, work_of(words), kit::number<double>(words.at(3)));
  if (role == "client") {
    const Work work{1, kit::number<cl_uint>(words.at(2))};
    return client(platform, kKinds.at(words.at(1)), work, kit::number<double>(words.at(3)));
  }
  if (role == "timed") return timed(platform, work_of(words));
  if (role == "ahead") return ahead(platform, work_of(words));
  if (role == "holds") return holds(platform, kit::number<std::size_t>(words.at(1)));
  if (role == "allocations") {
    return allocations(platform,
                       words.size() > 1 ? std::optional(kit::number<std::size_t>(words[1])) : std::nullopt);
  }
  if (role == "idle") return idle(platform);
  if (role == "launches") return launches(platform);
  throw std::invalid_argument(role);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    std::string platform;
    kit::CommandLine line;
    line.value("--platform", platform);
    return run(platform, line.read(count, arguments));
  } catch (const std::logic_error& failure) {
    std::fprintf(
        stderr,
        "sharer: %s\n"
        "usage: sharer calibrate|job|overlap|client|timed|ahead|allocations|holds|idle|launches ...\n",
        failure.what());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "sharer: %s\n", failure.what());
  }
  return 2;
}
