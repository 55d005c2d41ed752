#include "shared_context.h"

#include <chrono>
#include <utility>

namespace work {
namespace {

constexpr const char* kWorldSource =
    "kernel void add(global uint* data, uint n) { data[get_global_id(0)] += n; }"
    "kernel void add_to_sum(global uint* sums, uint place, uint n) { atomic_add(sums + place, n); }";

std::vector<cl_device_id> all_devices() {
  cl_platform_id platform = nullptr;
  did("clGetPlatformIDs", [&] { return clGetPlatformIDs(1, &platform, nullptr); });
  cl_uint count = 0;
  did("clGetDeviceIDs", [&] { return clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count); });
  std::vector<cl_device_id> devices(count);
  did("clGetDeviceIDs",
      [&] { return clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr); });
  return devices;
}

}  // namespace

SharedEvent shared_event(cl_event event) { return SharedEvent(event, Releases<clReleaseEvent>()); }

UserEventSetter::UserEventSetter() : thread_([this] { run(); }) {}

UserEventSetter::~UserEventSetter() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void UserEventSetter::add(const SharedEvent& event, cl_int status) {
  {
    const std::scoped_lock lock(mutex_);
    gates_.push_back({event, status});
  }
  changed_.notify_one();
}

void UserEventSetter::set_one() {
  Gate gate{};
  {
    const std::scoped_lock lock(mutex_);
    if (gates_.empty()) return;
    gate = std::move(gates_.front());
    gates_.pop_front();
  }
  did("clSetUserEventStatus", [&] { return clSetUserEventStatus(gate.event.get(), gate.status); });
}

void UserEventSetter::run() {
  Random random(1);
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !gates_.empty(); });
      if (gates_.empty()) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    set_one();
  }
}

void EventExchange::put(std::size_t place, const SharedEvent& event) {
  SharedEvent before = event;  // released without the lock
  const std::scoped_lock lock(mutex_);
  events_[place].swap(before);
}

SharedEvent EventExchange::look(std::size_t place) {
  const std::scoped_lock lock(mutex_);
  return events_[place];
}

SharedContext::SharedContext() : devices(all_devices()) {
  context.reset(made("clCreateContext", [&](cl_int* error) {
    return clCreateContext(nullptr, static_cast<cl_uint>(devices.size()), devices.data(), nullptr, nullptr,
                           error);
  }));
  const char* source = kWorldSource;
  program.reset(made("clCreateProgramWithSource", [&](cl_int* error) {
    return clCreateProgramWithSource(context.get(), 1, &source, nullptr, error);
  }));
  did("clBuildProgram", [&] { return clBuildProgram(program.get(), 0, nullptr, "", nullptr, nullptr); });
  for (std::size_t i = 0; i < 4; ++i) queues.push_back(queue(i, i < 3));
  sums = buffer(kSums * sizeof(cl_uint));
  const cl_uint zero = 0;
  did("clEnqueueFillBuffer", [&] {
    return clEnqueueFillBuffer(queues[0].handle.get(), sums.get(), &zero, sizeof zero, 0, kSums * sizeof zero,
                               0, nullptr, nullptr);
  });
  did("clFinish", [&] { return clFinish(queues[0].handle.get()); });
}

OrderedQueue SharedContext::queue(std::size_t device, bool in_order) const {
  return {Queue(made("clCreateCommandQueue",
                     [&](cl_int* error) {
                       return clCreateCommandQueue(context.get(), devices[device % devices.size()],
                                                   in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                                                   error);
                     })),
          in_order};
}

Memory SharedContext::buffer(std::size_t size) const {
  return Memory(made("clCreateBuffer", [&](cl_int* error) {
    return clCreateBuffer(context.get(), CL_MEM_READ_WRITE, size, nullptr, error);
  }));
}

Kernel SharedContext::kernel(const char* name) const {
  return Kernel(
      made("clCreateKernel", [&](cl_int* error) { return clCreateKernel(program.get(), name, error); }));
}

SharedEvent SharedContext::user_event() const {
  return shared_event(
      made("clCreateUserEvent", [&](cl_int* error) { return clCreateUserEvent(context.get(), error); }));
}

}  // namespace work
