// The work of `cleave bench remote`, on one platform: calls, launches, transfers, products, each in seconds.
// Prints one line of JSON, with the names of the platform and device. Sockets are measured in the same run, as the baseline.
//
//   cleave_remote_work PLATFORM [--quick]      PLATFORM: part of the platform's name
#include <CL/cl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "socket.h"

namespace {

using cleave::bench::exchange;
using cleave::bench::SocketKind;
using std::chrono::steady_clock;

constexpr std::size_t kLarge = std::size_t{64} << 20U;
constexpr std::size_t kSmall = 4096;

constexpr const char* kSource =
    "kernel void nothing() {}\n"
    "kernel void number(int n, global int* out) { if (n < 0) out[0] = n; }\n"
    "kernel void product(int n, global const float* a, global const float* b, global float* c) {\n"
    "  int x = get_global_id(0), y = get_global_id(1); float sum = 0;\n"
    "  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];\n"
    "  c[y * n + x] = sum; }\n";

void require(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, error);
  std::exit(2);
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = steady_clock::now();
  work();
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

double median_of(unsigned repeats, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (unsigned i = 0; i < repeats; ++i) seconds.push_back(seconds_of(work));
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

class Figures {
 public:
  void add(const std::string& name, double value) { put(name, std::to_string(value * 1e6)); }
  void add(const std::string& name, std::string words) {
    // Names usually contain nothing that JSON has to escape, but that is not guaranteed.
    std::replace_if(words.begin(), words.end(), needs_escape, ' ');
    put(name, '"' + words + '"');
  }
  void print() const { std::printf("%s}\n", text_.c_str()); }

 private:
  static bool needs_escape(char one) { return one == '"' || one == '\\' || (one >= 0 && one < ' '); }
  void put(const std::string& name, const std::string& value) {
    text_ += (text_.empty() ? "{" : ", ") + ("\"" + name + "\": ") + value;
  }

  std::string text_;  // microseconds
};

struct Device {
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;
};

cl_platform_id find_platform(const std::string& wanted) {
  cl_uint count = 0;
  clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(count);
  if (count != 0) clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id const platform : platforms) {
    char name[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
    if (std::string(name).find(wanted) != std::string::npos) return platform;
  }
  std::fprintf(stderr, "no platform is called %s\n", wanted.c_str());
  std::exit(2);
}

void name_both(cl_platform_id platform, cl_device_id device, Figures& figures) {
  char text[256] = {};
  clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof text - 1, text, nullptr);
  figures.add("platform", text);
  text[0] = '\0';
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text - 1, text, nullptr);
  figures.add("device", text);
}

Device begin(const std::string& platform_name, Figures& figures) {
  Device device;
  cl_int error = CL_SUCCESS;
  cl_platform_id platform = nullptr;
  figures.add("start", seconds_of([&] {
                platform = find_platform(platform_name);
                require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device.id, nullptr),
                        "clGetDeviceIDs");
                device.context = clCreateContext(nullptr, 1, &device.id, nullptr, nullptr, &error);
                require(error, "clCreateContext");
                device.queue = clCreateCommandQueue(device.context, device.id, 0, &error);
                require(error, "clCreateCommandQueue");
              }));
  name_both(platform, device.id, figures);
  const char* source = kSource;
  device.program = clCreateProgramWithSource(device.context, 1, &source, nullptr, &error);
  require(error, "clCreateProgramWithSource");
  require(clBuildProgram(device.program, 1, &device.id, "", nullptr, nullptr), "clBuildProgram");
  return device;
}

cl_kernel kernel_of(const Device& device, const char* name) {
  cl_int error = CL_SUCCESS;
  cl_kernel const kernel = clCreateKernel(device.program, name, &error);
  require(error, "clCreateKernel");
  return kernel;
}

cl_mem buffer_of(const Device& device, std::size_t size) {
  cl_int error = CL_SUCCESS;
  cl_mem const buffer = clCreateBuffer(device.context, CL_MEM_READ_WRITE, size, nullptr, &error);
  require(error, "clCreateBuffer");
  return buffer;
}

void launch(const Device& device, cl_kernel kernel) {
  const std::size_t one = 1;
  require(clEnqueueNDRangeKernel(device.queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr),
          "launch");
}

void measure_launches(const Device& device, unsigned repeats, Figures& figures) {
  constexpr unsigned kMany = 10'000;
  cl_kernel const nothing = kernel_of(device, "nothing");
  const auto once = [&] {
    launch(device, nothing);
    clFinish(device.queue);
  };
  for (int i = 0; i < 100; ++i) once();
  figures.add("launch and finish", median_of(repeats, once));
  std::vector<double> enqueue;
  const double whole = median_of(5, [&] {
    enqueue.push_back(seconds_of([&] {
      for (unsigned i = 0; i < kMany; ++i) launch(device, nothing);
    }));
    clFinish(device.queue);
  });
  std::sort(enqueue.begin(), enqueue.end());
  figures.add("a launch of 10000, on the client's thread", enqueue[enqueue.size() / 2] / kMany);
  figures.add("a launch of 10000, to the end", whole / kMany);
  cl_kernel const number = kernel_of(device, "number");
  cl_mem const out = buffer_of(device, sizeof(cl_int));
  require(clSetKernelArg(number, 1, sizeof out, &out), "clSetKernelArg");
  enqueue.clear();
  const double pairs = median_of(5, [&] {
    enqueue.push_back(seconds_of([&] {
      for (cl_int i = 0; i < static_cast<cl_int>(kMany); ++i) {
        require(clSetKernelArg(number, 0, sizeof i, &i), "clSetKernelArg");
        launch(device, number);
      }
    }));
    clFinish(device.queue);
  });
  std::sort(enqueue.begin(), enqueue.end());
  figures.add("argument and launch of 10000, on the client's thread", enqueue[enqueue.size() / 2] / kMany);
  figures.add("argument and launch of 10000, to the end", pairs / kMany);
}

void measure_transfers(const Device& device, unsigned repeats, Figures& figures) {
  cl_mem const buffer = buffer_of(device, kLarge);
  std::vector<char> memory(kLarge, 'x');
  const auto write = [&](std::size_t size) {
    require(clEnqueueWriteBuffer(device.queue, buffer, CL_TRUE, 0, size, memory.data(), 0, nullptr, nullptr),
            "write");
  };
  const auto read = [&](std::size_t size) {
    require(clEnqueueReadBuffer(device.queue, buffer, CL_TRUE, 0, size, memory.data(), 0, nullptr, nullptr),
            "read");
  };
  write(kLarge);
  read(kLarge);
  figures.add("write 64 MiB", median_of(9, [&] { write(kLarge); }));
  figures.add("read 64 MiB", median_of(9, [&] { read(kLarge); }));
  figures.add("write 4 KiB", median_of(repeats, [&] { write(kSmall); }));
  figures.add("read 4 KiB", median_of(repeats, [&] { read(kSmall); }));
  clReleaseMemObject(buffer);
}

void measure_products(const Device& device, Figures& figures) {
  cl_kernel const product = kernel_of(device, "product");
  for (const cl_int n : {64, 128, 256, 512}) {
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    std::vector<float> host(bytes / sizeof(float), 1.0F);
    cl_mem const a = buffer_of(device, bytes);
    cl_mem const b = buffer_of(device, bytes);
    cl_mem const c = buffer_of(device, bytes);
    clSetKernelArg(product, 0, sizeof n, &n);
    clSetKernelArg(product, 1, sizeof a, &a);
    clSetKernelArg(product, 2, sizeof b, &b);
    clSetKernelArg(product, 3, sizeof c, &c);
    std::vector<double> moving;
    const auto once = [&] {
      const std::size_t global[] = {static_cast<std::size_t>(n), static_cast<std::size_t>(n)};
      double moved = seconds_of([&] {
        clEnqueueWriteBuffer(device.queue, a, CL_TRUE, 0, bytes, host.data(), 0, nullptr, nullptr);
        clEnqueueWriteBuffer(device.queue, b, CL_TRUE, 0, bytes, host.data(), 0, nullptr, nullptr);
      });
      require(clEnqueueNDRangeKernel(device.queue, product, 2, nullptr, global, nullptr, 0, nullptr, nullptr),
              "launch");
      clFinish(device.queue);
      moved += seconds_of([&] {
        require(clEnqueueReadBuffer(device.queue, c, CL_TRUE, 0, bytes, host.data(), 0, nullptr, nullptr),
                "read");
      });
      moving.push_back(moved);
      if (host[0] != static_cast<float>(n)) require(CL_INVALID_VALUE, "a wrong product");
      std::fill(host.begin(), host.end(), 1.0F);
    };
    once();
    moving.clear();
    figures.add("product " + std::to_string(n), median_of(15, once));
    std::sort(moving.begin(), moving.end());
    figures.add("product " + std::to_string(n) + ", transfers", moving[moving.size() / 2]);
    for (cl_mem const buffer : {a, b, c}) clReleaseMemObject(buffer);
  }
}

void measure_sockets(unsigned repeats, Figures& figures) {
  for (const auto& [kind, name] :
       {std::pair{SocketKind::tcp, "tcp"}, std::pair{SocketKind::unix_socket, "unix"}}) {
    const std::string prefix = std::string(name) + " ";
    figures.add(prefix + "ping-pong", exchange(kind, 1, false, repeats));
    figures.add(prefix + "4 KiB", exchange(kind, kSmall, false, repeats));
    figures.add(prefix + "64 MiB", exchange(kind, kLarge, false, 9));
    figures.add(prefix + "64 MiB back", exchange(kind, kLarge, true, 9));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s PLATFORM [--quick]\n", arguments[0]);
    return 2;
  }
  const bool quick = count > 2 && std::strcmp(arguments[2], "--quick") == 0;
  const unsigned repeats = quick ? 200 : 2000;
  Figures figures;
  measure_sockets(repeats, figures);
  const Device device = begin(arguments[1], figures);
  measure_launches(device, repeats, figures);
  measure_transfers(device, repeats, figures);
  measure_products(device, figures);
  figures.print();
  return 0;
}
