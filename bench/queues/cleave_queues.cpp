// Slices on several queues, enqueued without Cleave: what each part of a pipelined launch costs on a device.
// src/launch/pipeline.h and src/plan/mode.cpp depend on these figures.
//
//   cleave_queues PLATFORM-SUBSTRING [REPEATS]
//
// Each work is cut into equal bands of rows, and launched unsplit and in slices in turn. Prints the medians from the first
// enqueue to the end of clFinish, in milliseconds, and their ratio, for each way to start and end a launch, and for more queues
// than fill the device. Sizes are those of bench/kernels for a GPU.
#include <CL/cl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/kernels/input.h"
#include "bench/kernels/work.h"

namespace {

constexpr std::size_t kMaxQueues = 6;

enum class Begin { marker, nothing };
enum class End { slice, group, marker };

struct Way {
  const char* name;
  Begin begin;
  End end;
  std::size_t more_queues;
};

constexpr Way kWays[] = {
    {"behind a marker, the last slice behind all", Begin::marker, End::slice, 0},
    {"waits for nothing before", Begin::nothing, End::slice, 0},
    {"one work-group behind all", Begin::marker, End::group, 0},
    {"a marker behind all", Begin::marker, End::marker, 0},
    {"the first, on one queue more", Begin::marker, End::slice, 1},
    {"the first, on two queues more", Begin::marker, End::slice, 2},
};

void check(cl_int error, const char* what) {
  if (error != CL_SUCCESS) throw std::runtime_error(std::string(what) + ": error " + std::to_string(error));
}

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// The device with its queues. Ends with the process.
struct Device {
  explicit Device(const std::string& platform) {
    std::array<cl_platform_id, 16> platforms{};
    cl_uint count = 0;
    check(clGetPlatformIDs(platforms.size(), platforms.data(), &count), "clGetPlatformIDs");
    for (cl_uint i = 0; i < count && i < platforms.size() && id == nullptr; ++i) {
      std::array<char, 256> name{};
      clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, name.size() - 1, name.data(), nullptr);
      if (std::string(name.data()).find(platform) != std::string::npos)
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &id, nullptr);
    }
    if (id == nullptr) throw std::runtime_error("no device on a platform named like \"" + platform + '"');
    cl_int error = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error);
    check(error, "clCreateContext");
    for (cl_command_queue& queue : queues) {
      queue = clCreateCommandQueue(context, id, 0, &error);
      check(error, "clCreateCommandQueue");
    }
    clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
  }

  cl_kernel make_kernel(const std::string& source, const char* name) const {
    const char* text = source.c_str();
    cl_int error = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &error);
    check(error, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &id, "", nullptr, nullptr), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, name, &error);
    check(error, "clCreateKernel");
    return kernel;
  }

  cl_device_id id = nullptr;
  cl_context context = nullptr;
  std::array<cl_command_queue, kMaxQueues> queues{};
  cl_uint units = 0;
};

// A kernel that needs no prelude to be cut.
std::string without_groups(std::string source) {
  const std::string group = "get_group_id(0)";
  for (std::size_t at = source.find(group); at != std::string::npos; at = source.find(group))
    source.replace(at, group.size(), "(get_global_id(0) / get_local_size(0))");
  return source;
}

class Launches {
 public:
  Launches(const Device& device, const kernels::Work& work)
      : device_(device), work_(work), kernel_(device.make_kernel(without_groups(work.source), "work")) {
    in_ = make_buffer(work.in_words(work.global));
    out_ = make_buffer(work.out_words(work.global));
    fill();
    const auto width = static_cast<cl_uint>(work.global.x);
    check(clSetKernelArg(kernel_, 0, sizeof in_, &in_) | clSetKernelArg(kernel_, 1, sizeof out_, &out_) |
              clSetKernelArg(kernel_, 2, sizeof width, &width),
          "clSetKernelArg");
  }
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;
  ~Launches() {
    clReleaseKernel(kernel_);
    clReleaseMemObject(in_);
    clReleaseMemObject(out_);
  }

  // Groups in the dimension that is cut.
  [[nodiscard]] std::size_t bands() const {
    return work_.dims == 1 ? work_.global.x / work_.local.x : work_.global.y / work_.local.y;
  }

  // As many as fill the device with slices like these: one that starts, and those that occupy it.
  [[nodiscard]] std::size_t queues_to_fill(std::size_t slices) const {
    constexpr std::size_t kThreads = 2048;
    constexpr std::size_t kGroups = 32;
    const std::size_t group = work_.local.x * (work_.dims == 1 ? 1 : work_.local.y);
    const std::size_t resident = device_.units * std::min(kThreads / group, kGroups);
    const std::size_t across = work_.dims == 1 ? 1 : work_.global.x / work_.local.x;
    const std::size_t in_a_slice = std::max<std::size_t>(1, bands() * across / slices);
    return std::clamp<std::size_t>(1 + (resident + in_a_slice - 1) / in_a_slice, 2, kMaxQueues);
  }

  double whole() {
    const double start = now();
    enqueue(0, 0, bands(), {}, nullptr);
    check(clFinish(device_.queues[0]), "clFinish");
    return now() - start;
  }

  double cut(std::size_t slices, std::size_t queues, const Way& way) {
    std::vector<cl_event> made;
    const double start = now();
    deal(slices, queues, way, made);
    check(clFinish(device_.queues[0]), "clFinish");
    const double time = now() - start;
    for (cl_event event : made) clReleaseEvent(event);
    return time;
  }

 private:
  cl_mem make_buffer(std::size_t words) const {
    cl_int error = CL_SUCCESS;
    cl_mem buffer =
        clCreateBuffer(device_.context, CL_MEM_READ_WRITE, words * sizeof(cl_uint), nullptr, &error);
    check(error, "clCreateBuffer");
    return buffer;
  }

  void fill() {
    constexpr std::size_t kRow = 65536;
    const std::size_t words = work_.in_words(work_.global);
    const std::size_t columns = words % kRow == 0 ? kRow : words;
    const std::size_t size[] = {columns, words / columns};
    const cl_uint floats = work_.floats ? 1 : 0;
    const auto width = static_cast<cl_uint>(columns);
    cl_kernel kernel = device_.make_kernel(kernels::kFill, "fill");
    check(clSetKernelArg(kernel, 0, sizeof in_, &in_) | clSetKernelArg(kernel, 1, sizeof floats, &floats) |
              clSetKernelArg(kernel, 2, sizeof width, &width),
          "clSetKernelArg");
    check(clEnqueueNDRangeKernel(device_.queues[0], kernel, 2, nullptr, size, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    check(clFinish(device_.queues[0]), "clFinish");
    clReleaseKernel(kernel);
  }

  void enqueue(std::size_t queue, std::size_t from, std::size_t to, const std::vector<cl_event>& list,
               cl_event* event) const {
    const unsigned d = work_.dims - 1;
    const std::size_t local[] = {work_.local.x, work_.local.y};
    std::size_t offset[] = {0, 0};
    std::size_t global[] = {work_.global.x, work_.global.y};
    offset[d] = from * local[d];
    global[d] = (to - from) * local[d];
    check(clEnqueueNDRangeKernel(device_.queues[queue], kernel_, work_.dims, offset, global, local,
                                 static_cast<cl_uint>(list.size()), list.empty() ? nullptr : list.data(),
                                 event),
          "clEnqueueNDRangeKernel");
  }

  // The slices in turn over the queues, and the end on the first one behind all of them.
  void deal(std::size_t slices, std::size_t queues, const Way& way, std::vector<cl_event>& made) const {
    cl_event gate = nullptr;
    if (way.begin == Begin::marker) {
      check(clEnqueueMarkerWithWaitList(device_.queues[0], 0, nullptr, &gate), "clEnqueueMarkerWithWaitList");
      made.push_back(gate);
      clFlush(device_.queues[0]);
    }
    const std::size_t dealt = way.end == End::slice ? slices - 1 : slices;
    const std::size_t all = way.end == End::group ? bands() - 1 : bands();
    std::vector<cl_event> newest;
    for (std::size_t i = 0; i < dealt; ++i) {
      const std::size_t queue = i % queues;
      const bool waits = queue != 0 && i < queues && gate != nullptr;
      const bool last_there = queue != 0 && i + queues >= dealt;
      cl_event event = nullptr;
      enqueue(queue, all * i / slices, all * (i + 1) / slices,
              waits ? std::vector<cl_event>{gate} : std::vector<cl_event>{}, last_there ? &event : nullptr);
      if (last_there) newest.push_back(event);
      if (i + 1 == queues)
        for (std::size_t q = 0; q < queues; ++q) clFlush(device_.queues[q]);
    }
    for (std::size_t q = 1; q < queues; ++q) clFlush(device_.queues[q]);
    if (way.end == End::marker) {
      check(clEnqueueMarkerWithWaitList(device_.queues[0], static_cast<cl_uint>(newest.size()), newest.data(),
                                        nullptr),
            "clEnqueueMarkerWithWaitList");
    } else {
      enqueue(0, way.end == End::slice ? all * dealt / slices : all, bands(), newest, nullptr);
    }
    made.insert(made.end(), newest.begin(), newest.end());
  }

  const Device& device_;
  const kernels::Work& work_;
  cl_kernel kernel_;
  cl_mem in_ = nullptr;
  cl_mem out_ = nullptr;
};

void measure(const Device& device, const kernels::Work& work, std::size_t repeats) {
  Launches launches(device, work);
  launches.whole();
  for (const std::size_t slices : {20, 100, 320}) {
    if (slices >= launches.bands()) continue;
    for (const Way& way : kWays) {
      const std::size_t queues = std::min(kMaxQueues, launches.queues_to_fill(slices) + way.more_queues);
      std::vector<double> whole;
      std::vector<double> cut;
      launches.cut(slices, queues, way);
      for (std::size_t i = 0; i < repeats; ++i) {
        whole.push_back(launches.whole());
        cut.push_back(launches.cut(slices, queues, way));
      }
      std::printf("%-14s %4zu slices %zu queues  %-44s whole %8.3f  cut %8.3f  ratio %.4f\n",
                  work.name.data(), slices, queues, way.name, median(whole), median(cut),
                  median(cut) / median(whole));
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 2) throw std::runtime_error("usage: cleave_queues PLATFORM-SUBSTRING [REPEATS]");
  const Device device(arguments[1]);
  const std::size_t repeats = count > 2 ? std::stoul(arguments[2]) : 7;
  for (const kernels::Work* work :
       {&kernels::kProduct, &kernels::kStencil, &kernels::kMandelbrot, &kernels::kReduction})
    measure(device, *work, repeats);
  return 0;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "cleave_queues: %s\n", failure.what());
  return 1;
}
