#include "bench/pipelined/side.h"

#include <array>
#include <chrono>
#include <dlfcn.h>
#include <stdexcept>

#include "cleave/cleave.h"

namespace pipelined {
namespace {

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void check(cl_int error, const char* function) {
  if (error != CL_SUCCESS)
    throw std::runtime_error(std::string(function) + ": error " + std::to_string(error));
}

template <typename Function>
Function Side::get(const char* name, Function) const {
  auto found = reinterpret_cast<Function>(dlsym(library_, name));
  if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
  return found;
}
#define FUNCTION(name) get(#name, &name)

Side::Side(const std::string& library, const std::string& platform, const Work& work, bool small)
    : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)),
      work_(work),
      global_{small ? work.small[0] : work.global[0], small ? work.small[1] : work.global[1]},
      out_count_(global_[0] * global_[1] / work.items_per_out) {
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  launch_ = FUNCTION(clEnqueueNDRangeKernel);
  finish_ = FUNCTION(clFinish);
  release_event_ = FUNCTION(clReleaseEvent);
  choose_device(platform);
  cl_int error = CL_SUCCESS;
  context_ = FUNCTION(clCreateContext)(nullptr, 1, &device_, nullptr, nullptr, &error);
  check(error, "clCreateContext");
  for (cl_command_queue* queue : {&queue_, &other_}) {
    *queue = FUNCTION(clCreateCommandQueue)(context_, device_, 0, &error);
    check(error, "clCreateCommandQueue");
  }
  const std::size_t in_bytes = global_[0] * global_[1] * work.in_per_item * sizeof(cl_uint);
  const std::size_t out_bytes = out_count_ * sizeof(cl_uint);
  for (const auto& [buffer, bytes] : {std::pair(&in_, in_bytes), std::pair(&out_, out_bytes)}) {
    *buffer = FUNCTION(clCreateBuffer)(context_, CL_MEM_READ_WRITE, bytes, nullptr, &error);
    check(error, "clCreateBuffer");
    const cl_uint one = buffer == &in_ ? 0x3f800001 : 0;  // a little more than 1, as a float
    check(FUNCTION(clEnqueueFillBuffer)(queue_, *buffer, &one, sizeof one, 0, bytes, 0, nullptr, nullptr),
          "clEnqueueFillBuffer");
  }
  kernel_ = make_kernel(work.source, "work");
  small_ = make_kernel("kernel void small(global uint* in) { if (in[0] == 0) in[0] = 1; }", "small");
  const auto width = static_cast<cl_uint>(global_[0]);
  const auto set = FUNCTION(clSetKernelArg);
  check(set(kernel_, 0, sizeof in_, &in_) | set(kernel_, 1, sizeof out_, &out_) |
            set(kernel_, 2, sizeof width, &width) | set(small_, 0, sizeof in_, &in_),
        "clSetKernelArg");
  check(finish_(queue_), "clFinish");
}

void Side::choose_device(const std::string& platform) {
  std::array<cl_platform_id, 16> platforms{};
  cl_uint count = 0;
  check(FUNCTION(clGetPlatformIDs)(platforms.size(), platforms.data(), &count), "clGetPlatformIDs");
  for (cl_uint i = 0; i < count && i < platforms.size(); ++i) {
    std::array<char, 256> name{};
    FUNCTION(clGetPlatformInfo)(platforms[i], CL_PLATFORM_NAME, name.size() - 1, name.data(), nullptr);
    if (std::string(name.data()).find(platform) == std::string::npos) continue;
    if (FUNCTION(clGetDeviceIDs)(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device_, nullptr) == CL_SUCCESS)
      return;
  }
  throw std::runtime_error("no device on a platform whose name contains \"" + platform + "\"");
}

cl_kernel Side::make_kernel(const char* source, const char* name) {
  cl_int error = CL_SUCCESS;
  cl_program program = FUNCTION(clCreateProgramWithSource)(context_, 1, &source, nullptr, &error);
  check(error, "clCreateProgramWithSource");
  check(FUNCTION(clBuildProgram)(program, 1, &device_, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel kernel = FUNCTION(clCreateKernel)(program, name, &error);
  check(error, "clCreateKernel");
  return kernel;
}

double Side::run(bool with_event) {
  const double start = now();
  cl_event event = nullptr;
  check(launch_(queue_, kernel_, work_.dims, nullptr, global_, work_.local, 0, nullptr,
                with_event ? &event : nullptr),
        "clEnqueueNDRangeKernel");
  check(finish_(queue_), "clFinish");
  const double time = now() - start;
  if (event != nullptr) release_event_(event);
  return time;
}

double Side::run_small() {
  const double start = now();
  const std::size_t global = 256;
  const std::size_t local = 64;
  check(launch_(other_, small_, 1, nullptr, &global, &local, 0, nullptr, nullptr), "clEnqueueNDRangeKernel");
  check(finish_(other_), "clFinish");
  return now() - start;
}

std::vector<cl_uint> Side::sample() {
  constexpr std::size_t kStretch = 4096;
  const std::size_t length = std::min(kStretch, out_count_);
  std::vector<cl_uint> values(length * 64);
  const auto read = FUNCTION(clEnqueueReadBuffer);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t at = (out_count_ - length) / 63 * i;
    check(read(queue_, out_, CL_TRUE, at * sizeof(cl_uint), length * sizeof(cl_uint), &values[i * length], 0,
               nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
  return values;
}

std::string Side::device_text() {
  std::array<char, 256> name{};
  std::array<char, 256> driver{};
  const auto info = FUNCTION(clGetDeviceInfo);
  info(device_, CL_DEVICE_NAME, name.size() - 1, name.data(), nullptr);
  info(device_, CL_DRIVER_VERSION, driver.size() - 1, driver.data(), nullptr);
  return std::string(name.data()) + ", driver " + driver.data();
}

std::string Side::statistics() {
  auto info =
      reinterpret_cast<clGetCleaveInfo_fn>(FUNCTION(clGetExtensionFunctionAddress)(CL_CLEAVE_GET_INFO_NAME));
  if (info == nullptr) return "";
  std::string text(65536, '\0');
  check(info(nullptr, CL_CLEAVE_STATISTICS, text.size(), text.data(), nullptr), "clGetCleaveInfo");
  return text.c_str();
}

}  // namespace pipelined
