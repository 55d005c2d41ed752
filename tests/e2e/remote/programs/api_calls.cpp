// Calls the common functions of OpenCL, most of them once, on valid objects, in the order of a usual program. Prints "done".
#include <CL/cl.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t kBytes = std::size_t{64}
                               << 10U;  // sent at once, and more than is gathered with other commands

void check(cl_int error, const char* call) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", call, error);
  std::exit(1);
}

struct Objects {
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem buffer = nullptr;
  cl_mem copy = nullptr;
  cl_mem part = nullptr;
  cl_program program = nullptr;
  cl_kernel kernel = nullptr;
};

Objects create(std::vector<unsigned char>& data) {
  Objects made;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
  std::array<char, 1024> text{};
  check(clGetPlatformInfo(platform, CL_PLATFORM_NAME, text.size(), text.data(), nullptr),
        "clGetPlatformInfo");
  check(clGetDeviceInfo(device, CL_DEVICE_NAME, text.size(), text.data(), nullptr), "clGetDeviceInfo");
  cl_int error = CL_SUCCESS;
  made.context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  check(error, "clCreateContext");
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  made.queue = clCreateCommandQueueWithProperties(made.context, device, properties, &error);
  check(error, "clCreateCommandQueueWithProperties");
  made.buffer = clCreateBuffer(made.context, CL_MEM_READ_WRITE, kBytes, nullptr, &error);
  check(error, "clCreateBuffer");
  made.copy = clCreateBuffer(made.context, CL_MEM_COPY_HOST_PTR, kBytes, data.data(), &error);
  check(error, "clCreateBuffer of contents");
  const cl_buffer_region region{0, 4096};
  made.part = clCreateSubBuffer(made.buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  check(error, "clCreateSubBuffer");
  const char* source = "kernel void one(global uchar* data, uchar value) { data[get_global_id(0)] = value; }";
  made.program = clCreateProgramWithSource(made.context, 1, &source, nullptr, &error);
  check(error, "clCreateProgramWithSource");
  check(clBuildProgram(made.program, 0, nullptr, "", nullptr, nullptr), "clBuildProgram");
  cl_build_status status = 0;
  check(clGetProgramBuildInfo(made.program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, nullptr),
        "clGetProgramBuildInfo");
  made.kernel = clCreateKernel(made.program, "one", &error);
  check(error, "clCreateKernel");
  std::size_t most = 0;
  check(clGetKernelWorkGroupInfo(made.kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, nullptr),
        "clGetKernelWorkGroupInfo");
  return made;
}

void use(const Objects& of, std::vector<unsigned char>& data) {
  const cl_uchar value = 7;
  check(clSetKernelArg(of.kernel, 0, sizeof of.buffer, &of.buffer), "clSetKernelArg");
  check(clSetKernelArg(of.kernel, 1, sizeof value, &value), "clSetKernelArg");
  cl_event event = nullptr;
  const std::size_t global = 256;
  // Once more what was valid before.
  for (int i = 0; i < 3; ++i) {
    check(clSetKernelArg(of.kernel, 1, sizeof value, &value), "clSetKernelArg again");
    check(clEnqueueNDRangeKernel(of.queue, of.kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel again");
  }
  check(clEnqueueWriteBuffer(of.queue, of.copy, CL_FALSE, 0, kBytes, data.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  check(clEnqueueFillBuffer(of.queue, of.buffer, &value, 1, 0, kBytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
  check(clEnqueueCopyBuffer(of.queue, of.copy, of.buffer, 0, 0, kBytes, 0, nullptr, nullptr),
        "clEnqueueCopyBuffer");
  check(clEnqueueMigrateMemObjects(of.queue, 1, &of.buffer, 0, 0, nullptr, nullptr),
        "clEnqueueMigrateMemObjects");
  check(clEnqueueNDRangeKernel(of.queue, of.kernel, 1, nullptr, &global, nullptr, 0, nullptr, &event),
        "clEnqueueNDRangeKernel");
  check(clEnqueueMarkerWithWaitList(of.queue, 1, &event, nullptr), "clEnqueueMarkerWithWaitList");
  check(clEnqueueBarrierWithWaitList(of.queue, 0, nullptr, nullptr), "clEnqueueBarrierWithWaitList");
  check(clFlush(of.queue), "clFlush");
  check(clWaitForEvents(1, &event), "clWaitForEvents");
  cl_ulong time = 0;
  check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr),
        "clGetEventProfilingInfo");
  check(clReleaseEvent(event), "clReleaseEvent");
  check(clEnqueueReadBuffer(of.queue, of.buffer, CL_TRUE, 0, kBytes, data.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  check(clEnqueueWriteBuffer(of.queue, of.buffer, CL_TRUE, 0, kBytes, data.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer, blocking");
  cl_int error = CL_SUCCESS;
  void* const mapped =
      clEnqueueMapBuffer(of.queue, of.buffer, CL_TRUE, CL_MAP_READ, 0, kBytes, 0, nullptr, nullptr, &error);
  check(error, "clEnqueueMapBuffer");
  check(clEnqueueUnmapMemObject(of.queue, of.buffer, mapped, 0, nullptr, nullptr), "clEnqueueUnmapMemObject");
  const cl_event users = clCreateUserEvent(of.context, &error);
  check(error, "clCreateUserEvent");
  check(clSetUserEventStatus(users, CL_COMPLETE), "clSetUserEventStatus");
  check(clReleaseEvent(users), "clReleaseEvent");
  check(clFinish(of.queue), "clFinish");
}

}  // namespace

int main() {
  std::vector<unsigned char> data(kBytes, 1);
  const Objects made = create(data);
  use(made, data);
  check(clReleaseKernel(made.kernel), "clReleaseKernel");
  check(clReleaseProgram(made.program), "clReleaseProgram");
  for (const cl_mem one : {made.part, made.copy, made.buffer})
    check(clReleaseMemObject(one), "clReleaseMemObject");
  check(clReleaseCommandQueue(made.queue), "clReleaseCommandQueue");
  check(clReleaseContext(made.context), "clReleaseContext");
  std::puts("done");
  return 0;
}
