// The product C = A x B of two N x N matrices on an OpenCL device: the job that Cleave was made for, as plain OpenCL. It does
// not depend on Cleave.
//
//   matmul [N] [REPEATS] [--platform SUBSTRING] [--type cpu|gpu|accelerator|all] [--output FILE]
//
// Prints one line: the median time from the enqueue to the end of clFinish, the speed, and a checksum of the
// result. The exit status is 0 only if a sample of the result, computed again on the host, is the same.
#include <CL/cl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

constexpr std::size_t tile = 16;

// A work-group computes one tile of C from a row of tiles of A and a column of tiles of B, of which it keeps two in local
// memory. Tiles at the edge are padded with zeros, so that N may have any value.
constexpr const char* source = R"(
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void multiply(__global const float* a, __global const float* b, __global float* c, uint n) {
  __local float a_tile[16][16];
  __local float b_tile[16][16];
  uint column = get_global_id(0);
  uint row = get_global_id(1);
  uint x = get_local_id(0);
  uint y = get_local_id(1);
  float sum = 0.0f;
  for (uint start = 0; start < n; start += 16) {
    a_tile[y][x] = row < n && start + x < n ? a[(size_t)row * n + start + x] : 0.0f;
    b_tile[y][x] = column < n && start + y < n ? b[(size_t)(start + y) * n + column] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 16; ++k) sum += a_tile[y][k] * b_tile[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < n && column < n) c[(size_t)row * n + column] = sum;
}
)";

struct Options {
  std::size_t n = 1024;
  std::size_t repeats = 3;
  std::string platform;
  cl_device_type type = CL_DEVICE_TYPE_ALL;
  std::string output;
};

void check(cl_int error, const char* function) {
  if (error != CL_SUCCESS)
    throw std::runtime_error(std::string(function) + ": error " + std::to_string(error));
}

// An OpenCL object that is released at the end of its scope.
template <auto release>
struct Release {
  template <typename Object>
  void operator()(Object* object) const {
    release(object);
  }
};
template <typename Handle, auto release>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release<release>>;

using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Program = Owned<cl_program, clReleaseProgram>;
using Kernel = Owned<cl_kernel, clReleaseKernel>;
using Buffer = Owned<cl_mem, clReleaseMemObject>;

std::size_t number(const std::string& text) {
  std::size_t end = 0;
  const unsigned long value = std::stoul(text, &end);
  if (end != text.size() || value == 0) throw std::invalid_argument(text);
  return value;
}

cl_device_type device_type(const std::string& name) {
  if (name == "cpu") return CL_DEVICE_TYPE_CPU;
  if (name == "gpu") return CL_DEVICE_TYPE_GPU;
  if (name == "accelerator") return CL_DEVICE_TYPE_ACCELERATOR;
  if (name == "all") return CL_DEVICE_TYPE_ALL;
  throw std::invalid_argument(name);
}

Options read_options(const std::vector<std::string>& arguments) {
  Options options;
  std::vector<std::size_t*> numbers = {&options.repeats, &options.n};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--platform") {
      options.platform = arguments.at(++i);
    } else if (arguments[i] == "--type") {
      options.type = device_type(arguments.at(++i));
    } else if (arguments[i] == "--output") {
      options.output = arguments.at(++i);
    } else if (!numbers.empty()) {
      *numbers.back() = number(arguments[i]);
      numbers.pop_back();
    } else {
      throw std::invalid_argument(arguments[i]);
    }
  }
  return options;
}

std::string name_of(cl_platform_id platform) {
  std::size_t size = 0;
  check(clGetPlatformInfo(platform, CL_PLATFORM_NAME, 0, nullptr, &size), "clGetPlatformInfo");
  std::string name(size, '\0');
  check(clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, name.data(), nullptr), "clGetPlatformInfo");
  return name;
}

// The first device of that type on the first platform of that name that has one.
cl_device_id choose_device(const Options& options) {
  cl_uint count = 0;
  check(clGetPlatformIDs(0, nullptr, &count), "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_platform_id platform : platforms) {
    if (name_of(platform).find(options.platform) == std::string::npos) continue;
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platform, options.type, 1, &device, nullptr) == CL_SUCCESS) return device;
  }
  throw std::runtime_error("no such device");
}

// Eighths from -6/8 to 6/8. Sums of their products are exact in a float in any order, so that every correct result is the same
// to the last bit.
std::vector<float> make_matrix(std::size_t n, std::uint32_t seed) {
  std::vector<float> matrix(n * n);
  std::uint32_t state = seed;
  for (float& element : matrix) {
    state = state * 1664525 + 1013904223;
    element = static_cast<float>(static_cast<int>((state >> 16) % 13) - 6) / 8;
  }
  return matrix;
}

bool sample_is_right(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c,
                     std::size_t n) {
  // The last element and others spread over all rows and columns.
  constexpr std::size_t samples = 256;
  for (std::size_t i = 1; i <= samples; ++i) {
    const std::size_t row = (n * i - 1) / samples;
    const std::size_t column = (row * 31 + n - 1 + (samples - i) * 17) % n;
    float sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    if (c[row * n + column] == sum) continue;
    std::fprintf(stderr, "matmul: C[%zu][%zu] is %g, not %g\n", row, column, c[row * n + column], sum);
    return false;
  }
  return true;
}

// FNV-1a of the result's bytes.
std::uint64_t checksum(const std::vector<float>& matrix) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(matrix.data());
  std::uint64_t hash = 14695981039346656037U;
  for (std::size_t i = 0; i < matrix.size() * sizeof(float); ++i) hash = (hash ^ bytes[i]) * 1099511628211U;
  return hash;
}

Program build(cl_context context, cl_device_id device) {
  cl_int error = CL_SUCCESS;
  const char* text = source;
  Program program(clCreateProgramWithSource(context, 1, &text, nullptr, &error));
  check(error, "clCreateProgramWithSource");
  check(clBuildProgram(program.get(), 1, &device, "", nullptr, nullptr), "clBuildProgram");
  return program;
}

Buffer make_buffer(cl_context context, cl_mem_flags flags, std::vector<float>& matrix) {
  cl_int error = CL_SUCCESS;
  Buffer buffer(clCreateBuffer(context, flags | CL_MEM_COPY_HOST_PTR, matrix.size() * sizeof(float),
                               matrix.data(), &error));
  check(error, "clCreateBuffer");
  return buffer;
}

// Seconds from the enqueue to the end of clFinish.
double run_once(cl_command_queue queue, cl_kernel kernel, std::size_t n) {
  const std::size_t rounded = (n + tile - 1) / tile * tile;
  const std::size_t global[] = {rounded, rounded};
  const std::size_t local[] = {tile, tile};
  const auto start = std::chrono::steady_clock::now();
  check(clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(queue), "clFinish");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Multiplies `options.repeats` times after one to warm up; gives the median time.
double multiply(const Options& options, std::vector<float>& a, std::vector<float>& b, std::vector<float>& c) {
  cl_int error = CL_SUCCESS;
  cl_device_id device = choose_device(options);
  const Context context(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error));
  check(error, "clCreateContext");
  const Queue queue(clCreateCommandQueue(context.get(), device, 0, &error));
  check(error, "clCreateCommandQueue");
  const Program program = build(context.get(), device);
  const Kernel kernel(clCreateKernel(program.get(), "multiply", &error));
  check(error, "clCreateKernel");

  const Buffer buffers[] = {make_buffer(context.get(), CL_MEM_READ_ONLY, a),
                            make_buffer(context.get(), CL_MEM_READ_ONLY, b),
                            make_buffer(context.get(), CL_MEM_WRITE_ONLY, c)};
  for (cl_uint i = 0; i < 3; ++i) {
    cl_mem buffer = buffers[i].get();
    check(clSetKernelArg(kernel.get(), i, sizeof(cl_mem), &buffer), "clSetKernelArg");
  }
  const auto n = static_cast<cl_uint>(options.n);
  check(clSetKernelArg(kernel.get(), 3, sizeof n, &n), "clSetKernelArg");

  run_once(queue.get(), kernel.get(), options.n);
  std::vector<double> times(options.repeats);
  for (double& time : times) time = run_once(queue.get(), kernel.get(), options.n);
  check(clEnqueueReadBuffer(queue.get(), buffers[2].get(), CL_TRUE, 0, c.size() * sizeof(float), c.data(), 0,
                            nullptr, nullptr),
        "clEnqueueReadBuffer");
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int run(const Options& options) {
  const std::size_t n = options.n;
  std::vector<float> a = make_matrix(n, 1);
  std::vector<float> b = make_matrix(n, 2);
  std::vector<float> c(n * n);
  const double seconds = multiply(options, a, b, c);
  if (!sample_is_right(a, b, c, n)) return 1;
  if (!options.output.empty()) {
    std::ofstream file(options.output, std::ios::binary);
    file.write(reinterpret_cast<const char*>(c.data()),
               static_cast<std::streamsize>(c.size() * sizeof(float)));
    if (!file.flush()) throw std::runtime_error("cannot write " + options.output);
  }
  const double operations = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  std::printf("seconds=%.6f gflops=%.3f checksum=%016llx\n", seconds, operations / seconds / 1e9,
              static_cast<unsigned long long>(checksum(c)));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(read_options({arguments + 1, arguments + count}));
  } catch (const std::logic_error&) {
    std::fputs(
        "usage: matmul [N] [REPEATS] [--platform SUBSTRING] [--type cpu|gpu|accelerator|all] [--output "
        "FILE]\n",
        stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "matmul: %s\n", failure.what());
  }
  return 2;
}
