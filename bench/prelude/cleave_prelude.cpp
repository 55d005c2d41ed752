// The cost of the prelude for a program whose launches are not split: each kernel is built unchanged and with the prelude, and
// the two are launched in turn.
//
//   cleave_prelude [PLATFORM-SUBSTRING] [REPEATS]
//
// Launches are made large enough to run 200 µs or more. Prints for each kernel the medians from enqueue to
// the end of clFinish, their ratio, whether the results are the same, and the largest work-group of both. The
// exit status is 0 only if all results are the same.
#include <CL/cl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/prelude/kernels.h"
#include "kernels/prelude.h"

namespace cleave::bench {
namespace {

constexpr double kLongEnough = 200;  // µs
constexpr std::size_t kFewest = std::size_t{1} << 16U;
constexpr std::size_t kMax = std::size_t{1} << 26U;

template <typename T>
T checked(T result, cl_int error, const char* what) {
  if (error != CL_SUCCESS) throw std::runtime_error(std::string(what) + ": error " + std::to_string(error));
  return result;
}
void check(cl_int error, const char* what) { checked(0, error, what); }

cl_device_id find_device(const std::string& wanted) {
  cl_uint count = 0;
  check(clGetPlatformIDs(0, nullptr, &count), "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (const cl_platform_id platform : platforms) {
    std::string name(256, '\0');
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, name.size(), name.data(), nullptr);
    cl_device_id device = nullptr;
    if (name.find(wanted) != std::string::npos &&
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS) {
      std::printf("%s\n", name.c_str());
      return device;
    }
  }
  throw std::runtime_error("no device on a platform named like that");
}

// The device with memory for the largest launch. Ends with the process.
struct Device {
  explicit Device(cl_device_id handle) : id(handle) {
    cl_int error = CL_SUCCESS;
    context = checked(clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error), error, "clCreateContext");
    queue = checked(clCreateCommandQueue(context, id, 0, &error), error, "clCreateCommandQueue");
    std::vector<cl_uint> data(kMax);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<cl_uint>(i * 2654435761U >> 20U);
    in = checked(clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, kMax * sizeof(cl_uint), data.data(), &error),
                 error, "clCreateBuffer");
    out =
        checked(clCreateBuffer(context, 0, kMax * sizeof(cl_uint), nullptr, &error), error, "clCreateBuffer");
  }

  cl_device_id id;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem in = nullptr;
  cl_mem out = nullptr;
};

class Built {
 public:
  Built(const Device& device, const Sample& sample, bool prelude) : device_(device), sample_(sample) {
    const std::string source = std::string(prelude ? kernels::prelude() : "") + sample.source;
    const std::string options(prelude ? kernels::kPreludeOption : "");
    const char* text = source.c_str();
    cl_int error = CL_SUCCESS;
    const cl_program program = checked(clCreateProgramWithSource(device.context, 1, &text, nullptr, &error),
                                       error, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device.id, options.c_str(), nullptr, nullptr), "clBuildProgram");
    kernel_ = checked(clCreateKernel(program, "run", &error), error, "clCreateKernel");
  }

  // Microseconds from the enqueue to the end.
  double run(std::size_t n) const {
    const auto items = n / sample_.items_per_element;
    const auto side = static_cast<std::size_t>(std::sqrt(items)) / 16 * 16;
    const std::array<std::size_t, 2> global =
        sample_.dims == 1 ? std::array<std::size_t, 2>{items, 1} : std::array<std::size_t, 2>{side, side};
    const auto count = static_cast<cl_uint>(n);
    check(clSetKernelArg(kernel_, 0, sizeof device_.out, &device_.out), "clSetKernelArg");
    check(clSetKernelArg(kernel_, 1, sizeof device_.in, &device_.in), "clSetKernelArg");
    check(clSetKernelArg(kernel_, 2, sizeof count, &count), "clSetKernelArg");
    const auto start = std::chrono::steady_clock::now();
    check(clEnqueueNDRangeKernel(device_.queue, kernel_, sample_.dims, nullptr, global.data(),
                                 sample_.local.data(), 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    check(clFinish(device_.queue), "clFinish");
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  }

  std::vector<cl_uint> result(std::size_t n) const {
    const cl_uint zero = 0;
    std::vector<cl_uint> content(n);
    check(clEnqueueFillBuffer(device_.queue, device_.out, &zero, sizeof zero, 0, n * sizeof zero, 0, nullptr,
                              nullptr),
          "clEnqueueFillBuffer");
    run(n);
    check(clEnqueueReadBuffer(device_.queue, device_.out, CL_TRUE, 0, n * sizeof zero, content.data(), 0,
                              nullptr, nullptr),
          "clEnqueueReadBuffer");
    return content;
  }

  std::size_t largest_group() const {
    std::size_t size = 0;
    check(
        clGetKernelWorkGroupInfo(kernel_, device_.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof size, &size, nullptr),
        "clGetKernelWorkGroupInfo");
    return size;
  }

 private:
  const Device& device_;
  const Sample& sample_;
  cl_kernel kernel_ = nullptr;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Prints one line; says whether the results are the same.
bool compare(const Device& device, const Sample& sample, std::size_t repeats) {
  const Built plain(device, sample, false);
  const Built prelude(device, sample, true);
  std::size_t n = kFewest;
  for (plain.run(n), prelude.run(n); n < kMax && plain.run(n) < kLongEnough;) n *= 2;
  const bool same = plain.result(n) == prelude.result(n);
  std::vector<double> plain_times;
  std::vector<double> prelude_times;
  for (std::size_t i = 0; i < repeats; ++i) {
    plain_times.push_back(plain.run(n));
    prelude_times.push_back(prelude.run(n));
  }
  std::printf("%-14s %9zu %10.1f %10.1f %8.3f   %-5s %5zu %5zu\n", sample.name, n, median(plain_times),
              median(prelude_times), median(prelude_times) / median(plain_times), same ? "yes" : "NO",
              plain.largest_group(), prelude.largest_group());
  return same;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) try {
  using namespace cleave::bench;
  const Device device(find_device(argc > 1 ? argv[1] : ""));
  const std::size_t repeats = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 101;
  std::printf("%-14s %9s %10s %10s %8s   %-5s %s\n", "kernel", "elements", "plain us", "prelude us", "ratio",
              "same", "largest groups");
  bool same = true;
  for (const Sample& sample : kSamples) same &= compare(device, sample, std::max<std::size_t>(1, repeats));
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "cleave_prelude: %s\n", error.what());
  return EXIT_FAILURE;
}
