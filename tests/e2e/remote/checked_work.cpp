#include "checked_work.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <unistd.h>

namespace work {
namespace {

using std::chrono::steady_clock;
using Numbers = std::vector<cl_uint>;

// Longer than any connection lives without a sign of life.
constexpr std::chrono::seconds kHangTimeout{120};

std::mutex slowest_call_mutex;
SlowestCall slowest_call_so_far;

constexpr const char* kSource = "kernel void add(global uint* data, uint n) { data[get_global_id(0)] += n; }";

std::size_t from_to(Random& random, std::size_t least, std::size_t most) {
  return std::uniform_int_distribution<std::size_t>(least, most)(random);
}

Numbers some_numbers(Random& random, std::size_t count) {
  Numbers numbers(count);
  std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<cl_uint>(random()); });
  return numbers;
}

std::size_t size_of(const Numbers& numbers) { return numbers.size() * sizeof numbers[0]; }

Memory make_buffer(const Rig& rig, std::size_t size) {
  return Memory(made("clCreateBuffer", [&](cl_int* error) {
    return clCreateBuffer(rig.context.get(), CL_MEM_READ_WRITE, size, nullptr, error);
  }));
}

void same(const char* what, const Numbers& expected, const cl_uint* got) {
  if (!std::equal(expected.begin(), expected.end(), got)) wrong(what, "other data");
}

void launch(const Rig& rig, const Kernel& kernel, const Memory& buffer, cl_uint n, std::size_t items) {
  cl_mem raw = buffer.get();
  did("clSetKernelArg", [&] { return clSetKernelArg(kernel.get(), 0, sizeof raw, &raw); });
  did("clSetKernelArg", [&] { return clSetKernelArg(kernel.get(), 1, sizeof n, &n); });
  did("clEnqueueNDRangeKernel", [&] {
    return clEnqueueNDRangeKernel(rig.queue.get(), kernel.get(), 1, nullptr, &items, nullptr, 0, nullptr,
                                  nullptr);
  });
}

void write(const Rig& rig, const Memory& buffer, const Numbers& numbers) {
  did("a blocking write", [&] {
    return clEnqueueWriteBuffer(rig.queue.get(), buffer.get(), CL_TRUE, 0, size_of(numbers), numbers.data(),
                                0, nullptr, nullptr);
  });
}

Numbers read(const Rig& rig, const Memory& buffer, std::size_t count) {
  Numbers numbers(count);
  did("a blocking read", [&] {
    return clEnqueueReadBuffer(rig.queue.get(), buffer.get(), CL_TRUE, 0, size_of(numbers), numbers.data(), 0,
                               nullptr, nullptr);
  });
  return numbers;
}

void add_with(const Rig& rig, const Kernel& kernel, Random& random, std::size_t count) {
  Numbers numbers = some_numbers(random, count);
  const cl_uint n = static_cast<cl_uint>(random());
  const Memory buffer = make_buffer(rig, size_of(numbers));
  write(rig, buffer, numbers);
  launch(rig, kernel, buffer, n, count);
  const Numbers got = read(rig, buffer, count);
  for (cl_uint& one : numbers) one += n;
  same("a launch", numbers, got.data());
}

// Large data there, to another buffer and back, and nobody waits before the end.
void transfer(const Rig& rig, Random& random) {
  const Numbers numbers = some_numbers(random, from_to(random, 1, std::size_t{16} << from_to(random, 0, 16)));
  Numbers back(numbers.size());
  const Memory first = make_buffer(rig, size_of(numbers));
  const Memory second = make_buffer(rig, size_of(numbers));
  std::array<Event, 3> events;
  cl_event event = nullptr;
  did("a write", [&] {
    return clEnqueueWriteBuffer(rig.queue.get(), first.get(), CL_FALSE, 0, size_of(numbers), numbers.data(),
                                0, nullptr, &event);
  });
  events[0].reset(event);
  // What is under way uses our memory until it has ended, however it ends.
  const auto await_all = [&] {
    for (const Event& one : events) {
      cl_event raw = one.get();
      if (raw != nullptr) timed("clWaitForEvents", [&] { return clWaitForEvents(1, &raw); });
    }
  };
  try {
    did("a copy", [&] {
      return clEnqueueCopyBuffer(rig.queue.get(), first.get(), second.get(), 0, 0, size_of(numbers), 0,
                                 nullptr, &event);
    });
    events[1].reset(event);
    did("a read", [&] {
      return clEnqueueReadBuffer(rig.queue.get(), second.get(), CL_FALSE, 0, size_of(back), back.data(), 0,
                                 nullptr, &event);
    });
    events[2].reset(event);
  } catch (const DeviceLost&) {
    await_all();
    throw;
  }
  await_all();
  did("clWaitForEvents", [&] {
    const std::array<cl_event, 3> raw{events[0].get(), events[1].get(), events[2].get()};
    return clWaitForEvents(3, raw.data());
  });
  same("a transfer", numbers, back.data());
}

cl_uint* map(const Rig& rig, const Memory& buffer, cl_map_flags flags, std::size_t size) {
  return static_cast<cl_uint*>(made("clEnqueueMapBuffer", [&](cl_int* error) {
    return clEnqueueMapBuffer(rig.queue.get(), buffer.get(), CL_TRUE, flags, 0, size, 0, nullptr, nullptr,
                              error);
  }));
}

void unmap(const Rig& rig, const Memory& buffer, void* mapped) {
  did("clEnqueueUnmapMemObject",
      [&] { return clEnqueueUnmapMemObject(rig.queue.get(), buffer.get(), mapped, 0, nullptr, nullptr); });
}

void map_and_unmap(const Rig& rig, Random& random) {
  const Numbers numbers = some_numbers(random, from_to(random, 1, 1U << 16U));
  const Memory buffer = make_buffer(rig, size_of(numbers));
  cl_uint* mapped = map(rig, buffer, CL_MAP_WRITE_INVALIDATE_REGION, size_of(numbers));
  std::copy(numbers.begin(), numbers.end(), mapped);
  unmap(rig, buffer, mapped);
  mapped = map(rig, buffer, CL_MAP_READ, size_of(numbers));
  same("a map", numbers, mapped);
  unmap(rig, buffer, mapped);
}

Program build(cl_context context, const std::string& source) {
  const char* text = source.c_str();
  Program program(made("clCreateProgramWithSource", [&](cl_int* error) {
    return clCreateProgramWithSource(context, 1, &text, nullptr, error);
  }));
  did("clBuildProgram", [&] { return clBuildProgram(program.get(), 0, nullptr, "", nullptr, nullptr); });
  return program;
}

Kernel make_kernel(const Program& program, const char* name) {
  return Kernel(
      made("clCreateKernel", [&](cl_int* error) { return clCreateKernel(program.get(), name, error); }));
}

// From a small choice of texts: drivers keep what they have built, and a soak is not to fill the disk.
void build_and_launch(const Rig& rig, Random& random) {
  const std::string extra = "kernel void other" + std::to_string(from_to(random, 0, 7)) + "() {}\n";
  const Program program = build(rig.context.get(), extra + kSource);
  add_with(rig, make_kernel(program, "add"), random, 64);
}

void pass_a_gate(const Rig& rig, Random& random) {
  const Numbers numbers = some_numbers(random, 1000);
  const Memory buffer = make_buffer(rig, size_of(numbers));
  write(rig, buffer, numbers);
  const Event gate(
      made("clCreateUserEvent", [&](cl_int* error) { return clCreateUserEvent(rig.context.get(), error); }));
  Numbers back(numbers.size());
  cl_event raw = gate.get();
  cl_event event = nullptr;
  const cl_int sent = timed("a read behind a gate", [&] {
    return clEnqueueReadBuffer(rig.queue.get(), buffer.get(), CL_FALSE, 0, size_of(back), back.data(), 1,
                               &raw, &event);
  });
  const Event over(sent == CL_SUCCESS ? event : nullptr);
  const cl_int opened = timed("clSetUserEventStatus", [&] { return clSetUserEventStatus(raw, CL_COMPLETE); });
  if (over != nullptr) timed("clWaitForEvents", [&] { return clWaitForEvents(1, &event); });
  require("a read behind a gate", sent);
  require("clSetUserEventStatus", opened);
  did("clWaitForEvents", [&] { return clWaitForEvents(1, &event); });
  same("a gate", numbers, back.data());
}

struct Called {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  cl_int status = CL_QUEUED;

  static void CL_CALLBACK take(cl_event, cl_int status, void* data) {
    auto& self = *static_cast<Called*>(data);
    const std::scoped_lock lock(self.mutex);
    self.status = status;
    self.done = true;
    self.changed.notify_one();
  }
};

void be_called(const Rig& rig, Random& random) {
  const Memory buffer = make_buffer(rig, 4096);
  const cl_uint pattern = static_cast<cl_uint>(random());
  cl_event event = nullptr;
  did("clEnqueueFillBuffer", [&] {
    return clEnqueueFillBuffer(rig.queue.get(), buffer.get(), &pattern, sizeof pattern, 0, 4096, 0, nullptr,
                               &event);
  });
  const Event owned(event);
  Called called;
  did("clSetEventCallback", [&] { return clSetEventCallback(event, CL_COMPLETE, &Called::take, &called); });
  const bool in_time = timed("a callback", [&] {
    std::unique_lock lock(called.mutex);
    return called.changed.wait_for(lock, kHangTimeout, [&] { return called.done; });
  });
  if (!in_time) wrong("a callback", "never called");
  if (called.status < 0) throw DeviceLost{"a callback", called.status};
  same("a fill", Numbers(1024, pattern), read(rig, buffer, 1024).data());
}

template <typename T>
T info(cl_device_id device, cl_device_info name) {
  T value{};
  clGetDeviceInfo(device, name, sizeof value, &value, nullptr);
  return value;
}

void share_virtual_memory(const Rig& rig, Random& random) {
  const auto can = info<cl_device_svm_capabilities>(rig.device, CL_DEVICE_SVM_CAPABILITIES);
  if ((can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) return;
  const Numbers numbers = some_numbers(random, from_to(random, 1, 1U << 14U));
  void* const memory = timed(
      "clSVMAlloc", [&] { return clSVMAlloc(rig.context.get(), CL_MEM_READ_WRITE, size_of(numbers), 0); });
  if (memory == nullptr) throw DeviceLost{"clSVMAlloc", CL_DEVICE_NOT_AVAILABLE};
  const auto free = [&](void* pointer) {
    timed("clSVMFree", [&] { return clSVMFree(rig.context.get(), pointer), 0; });
  };
  const std::unique_ptr<void, decltype(free)> owned(memory, free);
  did("a write to SVM", [&] {
    return clEnqueueSVMMemcpy(rig.queue.get(), CL_TRUE, memory, numbers.data(), size_of(numbers), 0, nullptr,
                              nullptr);
  });
  did("clEnqueueSVMMap", [&] {
    return clEnqueueSVMMap(rig.queue.get(), CL_TRUE, CL_MAP_READ, memory, size_of(numbers), 0, nullptr,
                           nullptr);
  });
  same("SVM", numbers, static_cast<const cl_uint*>(memory));
  did("clEnqueueSVMUnmap", [&] { return clEnqueueSVMUnmap(rig.queue.get(), memory, 0, nullptr, nullptr); });
  did("clFinish", [&] { return clFinish(rig.queue.get()); });
}

void draw(const Rig& rig, Random& random) {
  if (info<cl_bool>(rig.device, CL_DEVICE_IMAGE_SUPPORT) == CL_FALSE) return;
  const std::size_t side = from_to(random, 1, 200);
  const Numbers pixels = some_numbers(random, side * side);
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc what{};
  what.image_type = CL_MEM_OBJECT_IMAGE2D;
  what.image_width = what.image_height = side;
  const Memory image(made("clCreateImage", [&](cl_int* error) {
    return clCreateImage(rig.context.get(), CL_MEM_READ_WRITE, &format, &what, nullptr, error);
  }));
  const std::size_t origin[3] = {0, 0, 0};
  const std::size_t region[3] = {side, side, 1};
  did("clEnqueueWriteImage", [&] {
    return clEnqueueWriteImage(rig.queue.get(), image.get(), CL_TRUE, origin, region, 0, 0, pixels.data(), 0,
                               nullptr, nullptr);
  });
  Numbers back(pixels.size());
  did("clEnqueueReadImage", [&] {
    return clEnqueueReadImage(rig.queue.get(), image.get(), CL_TRUE, origin, region, 0, 0, back.data(), 0,
                              nullptr, nullptr);
  });
  same("an image", pixels, back.data());
}

void begin_anew(const Rig& rig, Random& random) { add_up(Rig(rig.device), random); }

Context make_context(cl_device_id device) {
  return Context(made("clCreateContext", [&](cl_int* error) {
    return clCreateContext(nullptr, 1, &device, nullptr, nullptr, error);
  }));
}

Queue make_queue(cl_context context, cl_device_id device) {
  return Queue(made("clCreateCommandQueue", [&](cl_int* error) {
    return clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, error);
  }));
}

}  // namespace

void wrong(const char* call, const std::string& what) {
  std::fprintf(stderr, "wrong: %s: %s\n", call, what.c_str());
  std::fflush(stderr);
  _exit(kWrong);
}

SlowestCall slowest_call() {
  const std::scoped_lock lock(slowest_call_mutex);
  return slowest_call_so_far;
}

void note_duration(const char* call, steady_clock::time_point begun) {
  const std::chrono::duration<double, std::milli> took = steady_clock::now() - begun;
  const std::scoped_lock lock(slowest_call_mutex);
  if (took.count() > slowest_call_so_far.milliseconds) slowest_call_so_far = {call, took.count()};
}

void require(const char* call, cl_int error) {
  if (error == CL_SUCCESS) return;
  if (error == CL_DEVICE_NOT_AVAILABLE || error == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    throw DeviceLost{call, error};
  wrong(call, "error " + std::to_string(error));
}

cl_device_id first_device() {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS)
    return nullptr;
  return device;
}

Rig::Rig(cl_device_id the_device)
    : device(the_device),
      context(make_context(device)),
      queue(make_queue(context.get(), device)),
      program(build(context.get(), kSource)),
      add(make_kernel(program, "add")) {}

Rig::Rig(cl_device_id the_device, const Rig& other)
    : device(the_device),
      context(other.context),
      queue(make_queue(context.get(), device)),
      program(build(context.get(), kSource)),
      add(make_kernel(program, "add")) {}

void add_up(const Rig& rig, Random& random) { add_with(rig, rig.add, random, from_to(random, 1, 5000)); }

void random_step(const Rig& rig, Random& random) {
  using Step = void (*)(const Rig&, Random&);
  constexpr std::array<Step, 9> kSteps{&add_up,      &transfer,  &map_and_unmap,        &build_and_launch,
                                       &pass_a_gate, &be_called, &share_virtual_memory, &draw,
                                       &begin_anew};
  kSteps[from_to(random, 0, kSteps.size() - 1)](rig, random);
}

void expect_all_lost(const Rig& rig) {
  const auto expect = [](const char* call, cl_int error) {
    if (error != CL_DEVICE_NOT_AVAILABLE) wrong(call, "error " + std::to_string(error) + " when all is lost");
  };
  cl_int error = CL_SUCCESS;
  const std::size_t one = 1;
  expect("clFinish", timed("clFinish", [&] { return clFinish(rig.queue.get()); }));
  expect("clFlush", timed("clFlush", [&] { return clFlush(rig.queue.get()); }));
  expect("clCreateBuffer", (clCreateBuffer(rig.context.get(), 0, 4, nullptr, &error), error));
  expect("clCreateUserEvent", (clCreateUserEvent(rig.context.get(), &error), error));
  expect("clCreateCommandQueue", (clCreateCommandQueue(rig.context.get(), rig.device, 0, &error), error));
  expect("clBuildProgram", timed("clBuildProgram", [&] {
           return clBuildProgram(rig.program.get(), 0, nullptr, "", nullptr, nullptr);
         }));
  expect("clEnqueueNDRangeKernel", timed("clEnqueueNDRangeKernel", [&] {
           return clEnqueueNDRangeKernel(rig.queue.get(), rig.add.get(), 1, nullptr, &one, nullptr, 0,
                                         nullptr, nullptr);
         }));
  expect("clEnqueueMarkerWithWaitList", timed("clEnqueueMarkerWithWaitList", [&] {
           return clEnqueueMarkerWithWaitList(rig.queue.get(), 0, nullptr, nullptr);
         }));
}

}  // namespace work
