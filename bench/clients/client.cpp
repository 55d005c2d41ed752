// One of several programs that share a device: it launches the same kernel repeatedly and waits for each launch.
//
//   cleave_client PLATFORM ITEMS TURNS SECONDS     PLATFORM: part of the platform's name
//
// The kernel takes TURNS steps for each of ITEMS work-items. Prints "ready" when it has run once, and begins
// with the next line of its standard input. After so many seconds it prints one line of JSON: the device, and
// the milliseconds from each launch to the end of its clFinish. SECONDS 0: the launches are five. Ends with
// status 1 if a sample of the result is wrong.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"
#include "tests/kit/timing.h"

namespace {

constexpr std::size_t kLocal = 256;
constexpr std::uint32_t kFactor = 1664525;
constexpr std::uint32_t kAddend = 1013904223;
constexpr unsigned kFew = 5;

const char* const kSource =
    "kernel void turn(global uint* out, uint turns) {\n"
    "  uint v = get_global_id(0);\n"
    "  for (uint i = 0; i < turns; ++i) v = v * 1664525u + 1013904223u;\n"
    "  out[get_global_id(0)] = v; }\n";

struct Task {
  std::string platform;
  std::size_t items = 0;
  cl_uint turns = 0;
  double seconds = 0;
};

const kit::Api cl(kit::linked_table(), kit::throw_error);

// The first device of the first such platform; without a name, the first GPU if there is one.
cl_device_id find_device(const std::string& wanted) {
  for (const cl_device_type type : {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    const cl_device_id device = cl.device_of(wanted, type);
    if (device != nullptr) return device;
  }
  throw std::runtime_error("there is no such device");
}

struct Work {
  // Milliseconds until the launch has ended.
  [[nodiscard]] double launch() const {
    return kit::duration_of<std::milli>([&] {
      cl.check("clEnqueueNDRangeKernel", cl.launch(queue, kernel, {task.items, kLocal}));
      cl.check("clFinish", cl.clFinish(queue));
    });
  }

  [[nodiscard]] bool on_processor() const {
    return (cl.info<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  }

  [[nodiscard]] bool sample_is_right() const {
    for (const std::size_t item : {std::size_t{0}, task.items / 3, task.items - 1}) {
      auto value = static_cast<std::uint32_t>(item);
      for (cl_uint i = 0; i < task.turns; ++i) value = value * kFactor + kAddend;
      if (cl.read<cl_uint>(queue, out, 1, item * sizeof value).front() != value) return false;
    }
    return true;
  }

  const Task& task;
  cl_device_id device = find_device(task.platform);
  kit::Context context = cl.context(device);
  kit::Queue queue = cl.queue(context, device);
  kit::Buffer out = cl.buffer(context, task.items * sizeof(cl_uint), CL_MEM_WRITE_ONLY);
  kit::Program program = cl.build(context, kSource);
  kit::Kernel kernel = cl.kernel(program, "turn", out, task.turns);
};

int run(const Task& task) {
  const Work work{task};
  static_cast<void>(work.launch());
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF) return 0;
  std::vector<double> waits;
  const double until = kit::now() + task.seconds;
  while (task.seconds > 0 ? kit::now() < until : waits.size() < kFew) waits.push_back(work.launch());
  std::printf(R"({"device": "%s", "on_processor": %s, "waits": [)",
              cl.text(work.device, CL_DEVICE_NAME).c_str(), work.on_processor() ? "true" : "false");
  for (std::size_t i = 0; i < waits.size(); ++i) std::printf("%s%.4f", i == 0 ? "" : ", ", waits[i]);
  std::puts("]}");
  return work.sample_is_right() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fputs("usage: cleave_client PLATFORM ITEMS TURNS SECONDS\n", stderr);
    return 2;
  }
  try {
    const auto items = std::stoul(arguments[2]) / kLocal * kLocal;
    return run(
        {arguments[1], items, static_cast<cl_uint>(std::stoul(arguments[3])), std::stod(arguments[4])});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cleave_client: %s\n", error.what());
    return 2;
  }
}
