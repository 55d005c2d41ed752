#include "bench/gpu/side.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <dlfcn.h>
#include <stdexcept>
#include <string_view>

#include "bench/kernels/input.h"
#include "cleave/cleave.h"

namespace gpu {
namespace {

constexpr std::size_t kStretches = 64;
constexpr std::size_t kStretch = 4096;  // words
constexpr std::string_view kWrapped = " (Cleave)";

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
Function Side::get(const char* name) const {
  auto found = reinterpret_cast<Function>(dlsym(library_, name));
  if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
  return found;
}
#define FUNCTION(name) get<decltype(&name)>(#name)

Side::Side(const std::string& library, const Target& target, const kernels::Work& work)
    : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)), work_(work), small_sizes_(target.small) {
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  launch_ = FUNCTION(clEnqueueNDRangeKernel);
  finish_ = FUNCTION(clFinish);
  release_event_ = FUNCTION(clReleaseEvent);
  choose_device(target);
  global_ = fitting();
  out_words_ = work.out_words(global_);
  cl_int error = CL_SUCCESS;
  context_ = FUNCTION(clCreateContext)(nullptr, 1, &device_, nullptr, nullptr, &error);
  check(error, "clCreateContext");
  for (cl_command_queue* queue : {&queue_, &other_}) {
    *queue = FUNCTION(clCreateCommandQueue)(context_, device_, 0, &error);
    check(error, "clCreateCommandQueue");
  }
  in_ = make_buffer(work.in_words(global_));
  out_ = make_buffer(out_words_);
  word_ = make_buffer(1);
  fill_input();
  kernel_ = make_kernel(work.source, "work");
  small_ = make_kernel("kernel void small(global uint* in) { if (in[0] == 0) in[0] = 1; }", "small");
  const auto width = static_cast<cl_uint>(global_.x);
  const auto set = FUNCTION(clSetKernelArg);
  check(set(kernel_, 0, sizeof in_, &in_) | set(kernel_, 1, sizeof out_, &out_) |
            set(kernel_, 2, sizeof width, &width) | set(small_, 0, sizeof word_, &word_),
        "clSetKernelArg");
  clear();
}

Side::~Side() {
  for (cl_kernel kernel : {kernel_, small_}) FUNCTION(clReleaseKernel)(kernel);
  for (cl_mem buffer : {in_, out_, word_}) FUNCTION(clReleaseMemObject)(buffer);
  for (cl_command_queue queue : {queue_, other_}) FUNCTION(clReleaseCommandQueue)(queue);
  FUNCTION(clReleaseContext)(context_);
}

void Side::choose_device(const Target& target) {
  std::array<cl_platform_id, 16> platforms{};
  cl_uint count = 0;
  check(FUNCTION(clGetPlatformIDs)(platforms.size(), platforms.data(), &count), "clGetPlatformIDs");
  for (const cl_device_type type : {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    for (cl_uint i = 0; i < count && i < platforms.size(); ++i) {
      std::array<char, 256> name{};
      FUNCTION(clGetPlatformInfo)(platforms[i], CL_PLATFORM_NAME, name.size() - 1, name.data(), nullptr);
      const std::string_view text = name.data();
      if (text.find(target.platform) == std::string_view::npos || text.ends_with(kWrapped) != target.wrapped)
        continue;
      if (FUNCTION(clGetDeviceIDs)(platforms[i], type, 1, &device_, nullptr) != CL_SUCCESS) continue;
      platform_ = platforms[i];
      cl_device_type found = 0;
      check(FUNCTION(clGetDeviceInfo)(device_, CL_DEVICE_TYPE, sizeof found, &found, nullptr),
            "clGetDeviceInfo");
      processor_ = (found & CL_DEVICE_TYPE_CPU) != 0;
      return;
    }
  }
  throw std::runtime_error("no device on a platform whose name contains \"" + target.platform + "\"" +
                           (target.wrapped ? ", as Cleave's vendor library calls it" : ""));
}

// Fewer rows than requested where the buffers of two sides would need more than half the memory.
kernels::Grid Side::fitting() const {
  cl_ulong memory = 0;
  cl_ulong largest = 0;
  const auto info = FUNCTION(clGetDeviceInfo);
  check(info(device_, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, nullptr) |
            info(device_, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, nullptr),
        "clGetDeviceInfo");
  const std::size_t most = std::min(largest, memory / 8) / sizeof(cl_uint);
  kernels::Grid global = small_sizes_ || processor_ ? work_.small : work_.global;
  std::size_t& rows = work_.dims == 1 ? global.x : global.y;
  while (std::max(work_.in_words(global), work_.out_words(global)) > most && rows > (std::size_t{1} << 10))
    rows /= 2;
  return global;
}

cl_mem Side::make_buffer(std::size_t words) {
  cl_int error = CL_SUCCESS;
  cl_mem buffer =
      FUNCTION(clCreateBuffer)(context_, CL_MEM_READ_WRITE, words * sizeof(cl_uint), nullptr, &error);
  check(error, "clCreateBuffer");
  return buffer;
}

// In rows, since not every driver takes offsets or sizes near 2^32 in one dimension.
void Side::fill_input() {
  constexpr std::size_t kRow = 65536;
  const std::size_t words = work_.in_words(global_);
  const std::size_t columns = words % kRow == 0 ? kRow : words;
  const std::size_t size[] = {columns, words / columns};
  cl_kernel fill = make_kernel(kernels::kFill, "fill");
  const cl_uint floats = work_.floats ? 1 : 0;
  const auto width = static_cast<cl_uint>(columns);
  const auto set = FUNCTION(clSetKernelArg);
  check(set(fill, 0, sizeof in_, &in_) | set(fill, 1, sizeof floats, &floats) |
            set(fill, 2, sizeof width, &width),
        "clSetKernelArg");
  check(launch_(queue_, fill, 2, nullptr, size, nullptr, 0, nullptr, nullptr), "clEnqueueNDRangeKernel");
  check(finish_(queue_), "clFinish");
  FUNCTION(clReleaseKernel)(fill);
}

void Side::clear() {
  const cl_uint zero = 0;
  check(FUNCTION(clEnqueueFillBuffer)(queue_, out_, &zero, sizeof zero, 0, out_words_ * sizeof zero, 0,
                                      nullptr, nullptr),
        "clEnqueueFillBuffer");
  check(finish_(queue_), "clFinish");
}

cl_kernel Side::make_kernel(const char* source, const char* name) {
  cl_int error = CL_SUCCESS;
  cl_program program = FUNCTION(clCreateProgramWithSource)(context_, 1, &source, nullptr, &error);
  check(error, "clCreateProgramWithSource");
  check(FUNCTION(clBuildProgram)(program, 1, &device_, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel kernel = FUNCTION(clCreateKernel)(program, name, &error);
  check(error, "clCreateKernel");
  FUNCTION(clReleaseProgram)(program);
  return kernel;
}

double Side::run(bool with_event) {
  const double start = now();
  cl_event event = nullptr;
  check(launch_(queue_, kernel_, work_.dims, nullptr, &global_.x, &work_.local.x, 0, nullptr,
                with_event ? &event : nullptr),
        "clEnqueueNDRangeKernel");
  check(finish_(queue_), "clFinish");
  const double time = now() - start;
  if (event != nullptr) release_event_(event);
  return time;
}

void Side::launch_small() {
  const std::size_t global = 256;
  const std::size_t local = 64;
  check(launch_(other_, small_, 1, nullptr, &global, &local, 0, nullptr, nullptr), "clEnqueueNDRangeKernel");
}

Side::Small Side::run_small() {
  const double start = now();
  launch_small();
  const double enqueued = now();
  check(finish_(other_), "clFinish");
  return {enqueued - start, now() - start};
}

double Side::run_stream(std::size_t count) {
  const double start = now();
  for (std::size_t i = 0; i < count; ++i) launch_small();
  check(finish_(other_), "clFinish");
  return now() - start;
}

std::size_t Side::stretch(std::size_t number) const {
  return (out_words_ - std::min(kStretch, out_words_)) * number / (kStretches - 1);
}

std::vector<cl_uint> Side::sample() {
  const std::size_t length = std::min(kStretch, out_words_);
  std::vector<cl_uint> values(length * kStretches);
  const auto read = FUNCTION(clEnqueueReadBuffer);
  for (std::size_t i = 0; i < kStretches; ++i) {
    check(read(queue_, out_, CL_TRUE, stretch(i) * sizeof(cl_uint), length * sizeof(cl_uint),
               &values[i * length], 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
  return values;
}

bool Side::is_right(const std::vector<cl_uint>& sample) const {
  const std::size_t length = std::min(kStretch, out_words_);
  for (std::size_t i = 0; i < kStretches; ++i) {
    // The first and the last of all words are among them.
    for (const std::size_t at : {i * (length - 1) / (kStretches - 1), (i * 2654435761U) % length}) {
      if (!kernels::right(work_, global_, stretch(i) + at, sample[i * length + at])) return false;
    }
  }
  return true;
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
  auto info = reinterpret_cast<clGetCleaveInfo_fn>(
      FUNCTION(clGetExtensionFunctionAddressForPlatform)(platform_, CL_CLEAVE_GET_INFO_NAME));
  if (info == nullptr) return "";
  std::string text(65536, '\0');
  check(info(nullptr, CL_CLEAVE_STATISTICS, text.size(), text.data(), nullptr), "clGetCleaveInfo");
  return text.substr(0, text.find('\0'));
}

}  // namespace gpu
