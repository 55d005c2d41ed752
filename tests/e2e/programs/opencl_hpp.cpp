// A C++ program with CL/opencl.hpp and exceptions: several kernels in one, two and three dimensions with
// offsets, events between them, markers and a callback. Prints a checksum of each result.
#include <CL/opencl.hpp>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <vector>

namespace {

const char* const kSource = R"(
kernel void line(global uint* out, uint seed) {
  size_t i = get_global_id(0);
  out[i] = (uint)i * 2246822519u ^ seed;
}

kernel void plane(global const uint* in, global uint* out, uint width) {
  size_t x = get_global_id(0), y = get_global_id(1);
  out[y * width + x] = in[y * width + x] + (uint)(x << 16 | y);
}

kernel void space(global uint* out, uint width, uint height) {
  size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  local uint shared[4];
  size_t place = get_local_id(0) + 2 * get_local_id(1);
  shared[place] = (uint)(x + 31 * y + 961 * z);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(z * height + y) * width + x] += shared[3 - place];
}
)";

// Not cl::Device::getDefault(), which would be released after drivers have taken themselves down.
cl::Device first_device() {
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  std::vector<cl::Device> devices;
  platforms.at(0).getDevices(CL_DEVICE_TYPE_ALL, &devices);
  return devices.at(0);
}

class Example {
 public:
  Example()
      : device_(first_device()),
        context_(device_),
        queue_(context_, device_, cl::QueueProperties::Profiling),
        program_(context_, kSource) {
    program_.build("-cl-std=CL1.2 -DUNUSED=1");
  }

  void one_dimension() {
    cl::Kernel line(program_, "line");
    for (const cl_uint size : {1U, 63U, 1000U, 1021U, 4096U}) {
      const cl::Buffer out = zeros(size);
      line.setArg(0, out);
      line.setArg(1, size);
      queue_.enqueueNDRangeKernel(line, cl::NullRange, cl::NDRange(size), cl::NullRange);
      show("line", out, size);
    }
    // The first 100 and the last 96 keep their contents.
    const cl::Buffer out = zeros(1000);
    line.setArg(0, out);
    queue_.enqueueNDRangeKernel(line, cl::NDRange(100), cl::NDRange(804), cl::NDRange(12));
    show("line with an offset", out, 1000);
  }

  void two_dimensions() {
    constexpr cl_uint kWidth = 60;
    constexpr cl_uint kHeight = 42;
    cl::KernelFunctor<cl::Buffer, cl_uint> line(program_, "line");
    cl::KernelFunctor<cl::Buffer, cl::Buffer, cl_uint> plane(program_, "plane");
    const cl::Buffer in = zeros(kWidth * kHeight);
    const cl::Buffer out = zeros(kWidth * kHeight);
    const cl::Event line_done = line(cl::EnqueueArgs(queue_, cl::NDRange(kWidth * kHeight)), in, 7);
    const cl::Event done = plane(cl::EnqueueArgs(queue_, std::vector<cl::Event>{line_done},
                                                 cl::NDRange(kWidth, kHeight), cl::NDRange(4, 6)),
                                 in, out, kWidth);
    const cl::EnqueueArgs inner(queue_, std::vector<cl::Event>{done}, cl::NDRange(8, 6), cl::NDRange(32, 24),
                                cl::NDRange(8, 2));
    const cl::Event again = plane(inner, out, out, kWidth);
    check_event(again);  // before anything waits: Oclgrind does not call back for events that are complete
    show("plane", out, kWidth * kHeight);
  }

  void three_dimensions() {
    constexpr cl_uint kWidth = 8;
    constexpr cl_uint kHeight = 6;
    constexpr cl_uint kDepth = 10;
    cl::Kernel space(program_, "space");
    const cl::Buffer out = zeros(kWidth * kHeight * kDepth);
    space.setArg(0, out);
    space.setArg(1, kWidth);
    space.setArg(2, kHeight);
    const cl::NDRange local(2, 2, 1);
    queue_.enqueueNDRangeKernel(space, cl::NullRange, cl::NDRange(kWidth, kHeight, kDepth), local);
    queue_.enqueueNDRangeKernel(space, cl::NDRange(2, 2, 3), cl::NDRange(4, 4, 5), local);
    queue_.enqueueNDRangeKernel(space, cl::NDRange(0, 0, 9), cl::NDRange(kWidth, kHeight, 1), local);
    show("space", out, kWidth * kHeight * kDepth);
  }

  // Errors are the same as without Cleave.
  void errors() {
    cl::Kernel line(program_, "line");
    const cl::Buffer out = zeros(16);
    line.setArg(0, out);
    line.setArg(1, 1);
    expect_error(line, cl::NDRange(0x10000), cl::NDRange(0x10000));
    try {
      const cl::Kernel missing(program_, "no_such_kernel");
    } catch (const cl::Error& error) {
      std::printf("error: %s %d\n", error.what(), error.err());
    }
  }

 private:
  cl::Buffer zeros(cl_uint size) {
    cl::Buffer buffer(context_, CL_MEM_READ_WRITE, size * sizeof(cl_uint));
    queue_.enqueueFillBuffer(buffer, cl_uint{0}, 0, size * sizeof(cl_uint));
    return buffer;
  }

  void show(const char* title, const cl::Buffer& buffer, cl_uint size) {
    std::vector<cl_uint> values(size);
    queue_.enqueueReadBuffer(buffer, CL_TRUE, 0, size * sizeof(cl_uint), values.data());
    std::uint64_t sum = 14695981039346656037U;
    for (const cl_uint value : values) sum = (sum ^ value) * 1099511628211U;
    std::printf("%s, %u: %016llx\n", title, size, static_cast<unsigned long long>(sum));
  }

  struct CallbackCount {
    std::mutex mutex;
    std::condition_variable changed;
    int times = 0;
  };

  void check_event(cl::Event event) {
    static CallbackCount callback;
    event.setCallback(
        CL_COMPLETE,
        [](cl_event, cl_int, void* data) {
          auto* const mine = static_cast<CallbackCount*>(data);
          const std::scoped_lock lock(mine->mutex);
          ++mine->times;
          mine->changed.notify_all();
        },
        &callback);
    queue_.finish();
    std::unique_lock lock(callback.mutex);
    callback.changed.wait(lock, [] { return callback.times != 0; });
    const bool in_order = event.getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>() <=
                              event.getProfilingInfo<CL_PROFILING_COMMAND_START>() &&
                          event.getProfilingInfo<CL_PROFILING_COMMAND_START>() <=
                              event.getProfilingInfo<CL_PROFILING_COMMAND_END>();
    std::printf("event: type %x, status %d, callback back %d, times in order %d, own queue %d\n",
                event.getInfo<CL_EVENT_COMMAND_TYPE>(), event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(),
                callback.times, in_order, event.getInfo<CL_EVENT_COMMAND_QUEUE>()() == queue_());
  }

  void expect_error(const cl::Kernel& kernel, const cl::NDRange& global, const cl::NDRange& local) {
    try {
      queue_.enqueueNDRangeKernel(kernel, cl::NullRange, global, local);
      queue_.finish();
      std::printf("error: none\n");
    } catch (const cl::Error& error) {
      std::printf("error: %s %d\n", error.what(), error.err());
    }
  }

  cl::Device device_;
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Program program_;
};

}  // namespace

int main() try {
  Example example;
  example.one_dimension();
  example.two_dimensions();
  example.three_dimensions();
  example.errors();
  return 0;
} catch (const cl::Error& error) {
  std::fprintf(stderr, "%s: error %d\n", error.what(), error.err());
  return 1;
}
