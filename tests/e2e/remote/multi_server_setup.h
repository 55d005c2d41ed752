// What the programs about several servers share: one context, and two queues on different devices where there
// are different ones.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline void require(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, error);
  std::exit(1);
}

inline void require_true(bool condition, const char* what) { require(condition ? CL_SUCCESS : -1000, what); }

inline const char* const kSource =
    "kernel void add(global uint* x, uint n) { size_t i = get_global_id(0); x[i] = x[i] * 3u + n; }"
    "kernel void sum(global uint* to, global const uint* a, constant uint* b) {"
    "  size_t i = get_global_id(0); to[i] += a[i] ^ b[i % 16]; }"
    "kernel void slow(global uint* x, uint turns) {"
    "  uint v = x[get_global_id(0)];"
    "  for (uint i = 0; i < turns; ++i) v = v * 1664525u + 1013904223u;"
    "  x[get_global_id(0)] = v; }"
    "kernel void shade(read_only image2d_t from, write_only image2d_t to, sampler_t s) {"
    "  int2 at = (int2)(get_global_id(0), get_global_id(1));"
    "  write_imageui(to, at, read_imageui(from, s, at) + (uint4)(1, 2, 3, 4)); }";

struct Rig {
  std::vector<cl_device_id> devices;
  cl_context context = nullptr;
  cl_program program = nullptr;
  cl_command_queue queues[2] = {};
  cl_command_queue loose[2] = {};  // out of order

  Rig() {
    cl_platform_id platform = nullptr;
    require(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    cl_uint count = 0;
    require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count), "clGetDeviceIDs");
    devices.resize(count);
    require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr), "clGetDeviceIDs");
    cl_int error = CL_SUCCESS;
    context = clCreateContext(nullptr, count, devices.data(), nullptr, nullptr, &error);
    require(error, "clCreateContext");
    for (int i = 0; i < 2; ++i) {
      cl_device_id const device = devices[static_cast<std::size_t>(i) % devices.size()];
      queues[i] = clCreateCommandQueue(context, device, 0, &error);
      require(error, "clCreateCommandQueue");
      loose[i] = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
      require(error, "clCreateCommandQueue");
    }
    const char* source = kSource;
    program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    require(error, "clCreateProgramWithSource");
    require(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), "clBuildProgram");
  }

  [[nodiscard]] cl_kernel kernel(const char* name) const {
    cl_int error = CL_SUCCESS;
    cl_kernel const made = clCreateKernel(program, name, &error);
    require(error, "clCreateKernel");
    return made;
  }
  [[nodiscard]] cl_mem buffer(std::size_t items, cl_mem_flags flags = CL_MEM_READ_WRITE) const {
    cl_int error = CL_SUCCESS;
    cl_mem const made = clCreateBuffer(context, flags, items * sizeof(cl_uint), nullptr, &error);
    require(error, "clCreateBuffer");
    const cl_uint zero = 0;
    require(
        clEnqueueFillBuffer(queues[0], made, &zero, sizeof zero, 0, items * sizeof zero, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
    require(clFinish(queues[0]), "clFinish");
    return made;
  }
  [[nodiscard]] cl_event user_event() const {
    cl_int error = CL_SUCCESS;
    cl_event const made = clCreateUserEvent(context, &error);
    require(error, "clCreateUserEvent");
    return made;
  }
};

inline cl_event launch(cl_command_queue queue, cl_kernel kernel, std::size_t items,
                       const std::vector<cl_event>& waits = {}) {
  cl_event event = nullptr;
  require(
      clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, static_cast<cl_uint>(waits.size()),
                             waits.empty() ? nullptr : waits.data(), &event),
      "clEnqueueNDRangeKernel");
  return event;
}

inline void set(cl_kernel kernel, cl_uint index, cl_mem memory) {
  require(clSetKernelArg(kernel, index, sizeof memory, &memory), "clSetKernelArg");
}
inline void set(cl_kernel kernel, cl_uint index, cl_uint value) {
  require(clSetKernelArg(kernel, index, sizeof value, &value), "clSetKernelArg");
}

inline std::vector<cl_uint> read_all(cl_command_queue queue, cl_mem buffer, std::size_t items,
                                     const std::vector<cl_event>& waits = {}) {
  std::vector<cl_uint> values(items);
  require(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, items * sizeof(cl_uint), values.data(),
                              static_cast<cl_uint>(waits.size()), waits.empty() ? nullptr : waits.data(),
                              nullptr),
          "clEnqueueReadBuffer");
  return values;
}

inline std::uint32_t checksum(const std::vector<cl_uint>& values) {
  std::uint32_t sum = 2166136261U;
  for (const cl_uint one : values) sum = (sum ^ one) * 16777619U;
  return sum;
}

inline cl_int status_of(cl_event event) {
  cl_int status = 0;
  require(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
          "status");
  return status;
}
