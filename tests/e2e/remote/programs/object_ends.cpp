// The order in which callbacks of different objects come, and what is done with objects that the program has released: prints
// both, which a native run and one through a server do alike.
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS  // clSetProgramReleaseCallback
#include <array>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "plain_program.h"

namespace {

std::mutex mutex;
std::vector<int> calls;

void note(void* number) {
  const std::lock_guard lock(mutex);
  calls.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(number)));
}
void* number(std::intptr_t one) { return reinterpret_cast<void*>(one); }  // NOLINT(performance-no-int-to-ptr)
void CL_CALLBACK on_memory(cl_mem, void* data) { note(data); }
void CL_CALLBACK on_context(cl_context, void* data) { note(data); }
void CL_CALLBACK on_program(cl_program, void* data) { note(data); }
void CL_CALLBACK on_event(cl_event, cl_int, void* data) { note(data); }

// Waits until so many have been called, and for a while longer if there are fewer.
void say_calls(const char* when, std::size_t expected) {
  for (int i = 0; i < 200; ++i) {
    {
      const std::lock_guard lock(mutex);
      if (calls.size() >= expected) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const std::lock_guard lock(mutex);
  std::printf("%s:", when);
  for (const int one : calls) std::printf(" %d", one);
  std::puts("");
  calls.clear();
}

// A context, a buffer, a part of it, and a program, each with callbacks, released in that order.
void end_context(cl_device_id device) {
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  check(clSetContextDestructorCallback(context, on_context, number(1)));
  check(clSetContextDestructorCallback(context, on_context, number(2)));
  cl_mem buffer = clCreateBuffer(context, 0, 4096, nullptr, nullptr);
  check(clSetMemObjectDestructorCallback(buffer, on_memory, number(3)));
  check(clSetMemObjectDestructorCallback(buffer, on_memory, number(4)));
  const cl_buffer_region region{0, 1024};
  cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, nullptr);
  check(clSetMemObjectDestructorCallback(part, on_memory, number(5)));
  const char* source = "kernel void nothing() {}";
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  const bool has_callback = clSetProgramReleaseCallback(program, on_program, number(6)) == CL_SUCCESS;
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, nullptr);
  check(clReleaseContext(context));
  check(clReleaseMemObject(buffer));
  check(clReleaseMemObject(part));
  check(clReleaseProgram(program));
  check(clReleaseCommandQueue(queue));
  say_calls("context", has_callback ? 6 : 5);
}

// Many buffers and a program in between, over and over: the order is not one of luck.
void end_in_turns(cl_device_id device) {
  const kit::Context context = cl.context(device);
  for (int round = 0; round < 20; ++round) {
    const char* source = "kernel void nothing() {}";
    std::array<cl_mem, 3> buffers{};
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      buffers[i] = clCreateBuffer(context, 0, 64, nullptr, nullptr);
      check(clSetMemObjectDestructorCallback(buffers[i], on_memory, number(static_cast<std::intptr_t>(i))));
    }
    cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    const bool has_callback = clSetProgramReleaseCallback(program, on_program, number(9)) == CL_SUCCESS;
    check(clReleaseMemObject(buffers[2]));
    check(clReleaseMemObject(buffers[0]));
    check(clReleaseProgram(program));
    check(clReleaseMemObject(buffers[1]));
    say_calls("in turns", has_callback ? 4 : 3);
  }
}

void release_in_use(cl_device_id device) {
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  cl_mem buffer = clCreateBuffer(context, 0, 4096, nullptr, nullptr);
  check(clSetMemObjectDestructorCallback(buffer, on_memory, number(1)));
  const kit::Event gate = cl.user_event(context);
  const cl_event wait = gate;
  cl_event filled = nullptr;
  const cl_uint zero = 0;
  check(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, 4096, 1, &wait, &filled));
  check(clSetEventCallback(filled, CL_COMPLETE, on_event, number(2)));
  check(clFlush(queue));
  check(clReleaseMemObject(buffer));
  say_calls("waits", 1);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue));
  {
    const std::lock_guard lock(mutex);
    check(clReleaseEvent(filled));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::lock_guard lock(mutex);
  std::printf("has ended: %zu\n", calls.size());
  calls.clear();
}

// A map outlives its buffer's last reference.
void release_mapped(cl_device_id device) {
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  for (const cl_map_flags flags : {CL_MAP_READ, CL_MAP_WRITE}) {
    cl_mem buffer = clCreateBuffer(context, 0, 4096, nullptr, nullptr);
    check(clSetMemObjectDestructorCallback(buffer, on_memory, number(1)));
    cl_int error = CL_SUCCESS;
    void* const mapped =
        clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, 0, 4096, 0, nullptr, nullptr, &error);
    check(error);
    check(clReleaseMemObject(buffer));
    std::printf("unmap: %d\n", clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr));
    check(clFinish(queue));
    say_calls("unmapped", 1);
  }
}

void use_sub_devices(cl_device_id device) {
  const std::array<cl_device_partition_property, 3> equally{CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  std::array<cl_device_id, 64> parts{};
  cl_uint count = 0;
  if (clCreateSubDevices(device, equally.data(), 64, parts.data(), &count) != CL_SUCCESS) return;
  const cl_uint used = std::min(count, 2U);
  const kit::Context context =
      cl.own(clCreateContext(nullptr, used, parts.data(), nullptr, nullptr, nullptr));
  const char* const source = "kernel void nothing() {}";
  const kit::Program unbuilt =
      cl.own(clCreateProgramWithSource(context, 1, const_cast<const char**>(&source), nullptr, nullptr));
  std::size_t size = 0;
  for (const cl_program_info name : {CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_BINARIES})
    std::printf("unbuilt %x: %d\n", name, clGetProgramInfo(unbuilt, name, 0, nullptr, &size));
  const kit::Program program = cl.build(context, source);
  std::printf("devices %u\n", used);
  cl_uint number = 0;
  std::array<cl_device_id, 64> of{};
  check(clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof number, &number, nullptr));
  check(clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof of, of.data(), &size));
  std::printf("of the program %u, %zu bytes, the first %s\n", number, size,
              of[0] == device     ? "whole"
              : of[0] == parts[0] ? "a part"
                                  : "another");
  check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, 0, nullptr, &size));
  std::printf("size of binaries %zu\n", size);
  std::printf("size of sizes %d", clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, 0, nullptr, &size));
  std::printf(" %zu\n", size);
  std::array<std::size_t, 64> sizes{};
  std::printf("sizes %d\n",
              clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes.data(), nullptr));
  for (cl_uint i = 0; i < used; ++i) std::printf("has a binary: %d\n", sizes[i] != 0 ? 1 : 0);
  std::vector<std::vector<unsigned char>> binaries;
  std::vector<unsigned char*> places;
  for (const std::size_t each : sizes) places.push_back(binaries.emplace_back(each).data());
  std::printf("binaries %d\n", clGetProgramInfo(program, CL_PROGRAM_BINARIES, number * sizeof places[0],
                                                places.data(), nullptr));
  if (number == 0 || sizes[0] == 0) return;
  std::array<cl_int, 2> statuses{7, 7};
  const std::array<std::size_t, 2> lengths{sizes[0], 0};
  const std::array<const unsigned char*, 2> given{places[0], places[0]};
  cl_int error = CL_SUCCESS;
  clCreateProgramWithBinary(context, used, parts.data(), lengths.data(),
                            const_cast<const unsigned char**>(given.data()), statuses.data(), &error);
  std::printf("an empty binary: %d status %d %d\n", error, statuses[0], statuses[1]);
}

}  // namespace

int main() {
  const cl_device_id device = cl.device_of();
  end_context(device);
  end_in_turns(device);
  release_in_use(device);
  release_mapped(device);
  use_sub_devices(device);
  return 0;
}
