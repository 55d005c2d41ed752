// One of several programs that share a device: it launches the same kernel repeatedly and waits for each launch.
//
//   cleave_client PLATFORM ITEMS TURNS SECONDS     PLATFORM: part of the platform's name
//
// The kernel takes TURNS steps for each of ITEMS work-items. Prints "ready" when it has run once, and begins
// with the next line of its standard input. After so many seconds it prints one line of JSON: the device, and
// the milliseconds from each launch to the end of its clFinish. SECONDS 0: the launches are five. Ends with
// status 1 if a sample of the result is wrong.
#include <CL/cl.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

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

void require(cl_int error, const char* what) {
  if (error != CL_SUCCESS) throw std::runtime_error(std::string(what) + ": error " + std::to_string(error));
}

std::string name_of(cl_platform_id platform) {
  char name[256] = {};
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
  return name;
}

// The first device of the first such platform; without a name, the first GPU if there is one.
cl_device_id find_device(const std::string& wanted) {
  cl_uint count = 0;
  clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(count);
  if (count != 0) clGetPlatformIDs(count, platforms.data(), nullptr);
  for (const cl_device_type type : {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    for (cl_platform_id const platform : platforms) {
      cl_device_id device = nullptr;
      if (name_of(platform).find(wanted) != std::string::npos &&
          clGetDeviceIDs(platform, type, 1, &device, nullptr) == CL_SUCCESS)
        return device;
    }
  }
  throw std::runtime_error("there is no such device");
}

class Work {
 public:
  explicit Work(const Task& task) : task_(task), device_(find_device(task.platform)) {
    cl_int error = CL_SUCCESS;
    cl_context const context = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &error);
    require(error, "clCreateContext");
    queue_ = clCreateCommandQueue(context, device_, 0, &error);
    require(error, "clCreateCommandQueue");
    out_ = clCreateBuffer(context, CL_MEM_WRITE_ONLY, task.items * sizeof(cl_uint), nullptr, &error);
    require(error, "clCreateBuffer");
    const char* source = kSource;
    cl_program const program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    require(error, "clCreateProgramWithSource");
    require(clBuildProgram(program, 1, &device_, "", nullptr, nullptr), "clBuildProgram");
    kernel_ = clCreateKernel(program, "turn", &error);
    require(error, "clCreateKernel");
    require(clSetKernelArg(kernel_, 0, sizeof out_, &out_), "clSetKernelArg");
    require(clSetKernelArg(kernel_, 1, sizeof task.turns, &task.turns), "clSetKernelArg");
  }

  // Milliseconds until the launch has ended.
  double launch() {
    const auto begin = Clock::now();
    require(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &task_.items, &kLocal, 0, nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    require(clFinish(queue_), "clFinish");
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

  [[nodiscard]] std::string device_name() const {
    char name[256] = {};
    clGetDeviceInfo(device_, CL_DEVICE_NAME, sizeof name - 1, name, nullptr);
    return name;
  }

  [[nodiscard]] bool on_processor() const {
    cl_device_type type = 0;
    clGetDeviceInfo(device_, CL_DEVICE_TYPE, sizeof type, &type, nullptr);
    return (type & CL_DEVICE_TYPE_CPU) != 0;
  }

  [[nodiscard]] bool sample_is_right() const {
    for (const std::size_t item : {std::size_t{0}, task_.items / 3, task_.items - 1}) {
      cl_uint found = 0;
      require(clEnqueueReadBuffer(queue_, out_, CL_TRUE, item * sizeof found, sizeof found, &found, 0,
                                  nullptr, nullptr),
              "clEnqueueReadBuffer");
      auto value = static_cast<std::uint32_t>(item);
      for (cl_uint i = 0; i < task_.turns; ++i) value = value * kFactor + kAddend;
      if (value != found) return false;
    }
    return true;
  }

 private:
  const Task task_;
  cl_device_id device_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem out_ = nullptr;
  cl_kernel kernel_ = nullptr;
};

int run(const Task& task) {
  Work work(task);
  work.launch();
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF) return 0;
  std::vector<double> waits;
  const auto until = Clock::now() + std::chrono::duration<double>(task.seconds);
  while (task.seconds > 0 ? Clock::now() < until : waits.size() < kFew) waits.push_back(work.launch());
  std::printf(R"({"device": "%s", "on_processor": %s, "waits": [)", work.device_name().c_str(),
              work.on_processor() ? "true" : "false");
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
