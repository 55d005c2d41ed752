#include <cstdlib>

#include "bad_arguments.h"

namespace bad {
namespace {

const char* const kSource =
    "kernel void one(global int* out, int add, local int* scratch) {"
    "  scratch[get_local_id(0)] = add; out[get_global_id(0)] = scratch[get_local_id(0)]; }";

void require(bool is_true, const char* what) {
  if (is_true) return;
  std::printf("no %s\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

cl_program build(cl_context context) {
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  require(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr) == CL_SUCCESS, "program");
  return program;
}

cl_kernel complete_kernel(cl_program program, cl_mem buffer) {
  const cl_int add = 1;
  cl_kernel kernel = clCreateKernel(program, "one", nullptr);
  clSetKernelArg(kernel, 0, sizeof buffer, static_cast<const void*>(&buffer));
  clSetKernelArg(kernel, 1, sizeof add, &add);
  clSetKernelArg(kernel, 2, 64 * sizeof add, nullptr);
  return kernel;
}

// Drivers of OpenCL 1 may not have the function at all: Oclgrind's table names the loader's, which calls itself without end.
bool has_shared_virtual_memory(cl_device_id device) {
  cl_device_svm_capabilities what = 0;
  return clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof what, &what, nullptr) == CL_SUCCESS &&
         what != 0;
}

cl_event ended_event(cl_context context) {
  cl_event event = clCreateUserEvent(context, nullptr);
  clSetUserEventStatus(event, CL_COMPLETE);
  return event;
}

}  // namespace

Rig::Rig() {
  require(clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS, "platform");
  require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS, "device");
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  other_context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  queue = clCreateCommandQueue(context, device, 0, nullptr);
  other_queue = clCreateCommandQueue(other_context, device, 0, nullptr);
  const auto new_buffer = [](cl_context in, cl_mem_flags flags) {
    return clCreateBuffer(in, flags, kSize, nullptr, nullptr);
  };
  buffer = new_buffer(context, 0);
  second = new_buffer(context, 0);
  other_buffer = new_buffer(other_context, 0);
  write_only = new_buffer(context, CL_MEM_HOST_WRITE_ONLY);
  read_only = new_buffer(context, CL_MEM_HOST_READ_ONLY);
  no_access = new_buffer(context, CL_MEM_HOST_NO_ACCESS);
  const cl_buffer_region region{kSize / 2, kSize / 4};
  sub_buffer = clCreateSubBuffer(second, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, nullptr);
  const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 16;
  image = clCreateImage(context, 0, &format, &desc, nullptr, nullptr);
  program = build(context);
  other_program = build(other_context);
  const char* source = kSource;
  unbuilt = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  kernel = complete_kernel(program, buffer);
  other_kernel = complete_kernel(other_program, other_buffer);
  unset = clCreateKernel(program, "one", nullptr);
  sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, nullptr);
  ended = ended_event(context);
  other_ended = ended_event(other_context);
  user = ended_event(context);
  host = static_cast<std::byte*>(std::calloc(1, std::size_t{16} << 20U)) + (std::size_t{4} << 20U);
  if (has_shared_virtual_memory(device)) svm = clSVMAlloc(context, CL_MEM_READ_WRITE, kSize, 0);
  outputs();
}

void Rig::release_some() {
  static cl_event listed[1];
  listed[0] = ended_event(context);
  const auto give_up = [this](Type type, cl_int error, auto handle, auto release) {
    released[type] = {to_word(handle), error};
    release(handle);
  };
  const char* source = kSource;
  give_up(Type::context, CL_INVALID_CONTEXT, clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr),
          clReleaseContext);
  give_up(Type::queue, CL_INVALID_COMMAND_QUEUE, clCreateCommandQueue(context, device, 0, nullptr),
          clReleaseCommandQueue);
  give_up(Type::memory, CL_INVALID_MEM_OBJECT, clCreateBuffer(context, 0, kSize, nullptr, nullptr),
          clReleaseMemObject);
  give_up(Type::program, CL_INVALID_PROGRAM, clCreateProgramWithSource(context, 1, &source, nullptr, nullptr),
          clReleaseProgram);
  give_up(Type::kernel, CL_INVALID_KERNEL, clCreateKernel(program, "one", nullptr), clReleaseKernel);
  give_up(Type::sampler, CL_INVALID_SAMPLER,
          clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, nullptr), clReleaseSampler);
  give_up(Type::event, CL_INVALID_EVENT, listed[0], clReleaseEvent);
  released[Type::events] = {to_word(&listed[0]), CL_INVALID_EVENT_WAIT_LIST};
}

std::string Rig::outputs() {
  std::string text;
  if (event != nullptr) {
    text += " event";
    clWaitForEvents(1, &event);
    cl_int status = 0;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    if (status != CL_COMPLETE) text += " " + std::to_string(status);
    clReleaseEvent(event);
    event = nullptr;
  }
  constexpr cl_int kNoError = 0x5A5A;
  if (error != kNoError) text += " error " + std::to_string(error);
  error = kNoError;
  constexpr cl_uint kNoNumber = 0x5A5A5A5A;
  if (number != kNoNumber) text += " number " + std::to_string(number);
  number = kNoNumber;
  if (size != kUntouched) text += " size " + std::to_string(size);
  size = kUntouched;
  std::size_t touched = 0;
  for (const std::size_t one : values) touched += one == kUntouched ? 0 : 1;
  if (touched != 0) text += " values " + std::to_string(touched);
  values.fill(kUntouched);
  return text;
}

}  // namespace bad
