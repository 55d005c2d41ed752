// Functions that make objects or change them.
#include <cstring>

#include "bad_arguments.h"

namespace bad {
namespace {

void CL_CALLBACK ignore_error(const char*, const void*, std::size_t, void*) {}
void CL_CALLBACK ignore_context(cl_context, void*) {}
void CL_CALLBACK ignore_memory(cl_mem, void*) {}
void CL_CALLBACK ignore_build(cl_program, void*) {}
void CL_CALLBACK ignore_event(cl_event, cl_int, void*) {}

void make_contexts(Rig& rig) {
  const cl_device_id devices[8] = {rig.device};
  const auto platform = reinterpret_cast<cl_context_properties>(rig.platform);
  const cl_context_properties lists[][6] = {
      {0},
      {CL_CONTEXT_PLATFORM, platform, 0},
      {CL_CONTEXT_PLATFORM, 0, 0},
      {CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_PLATFORM, platform, 0},
      {0x7777, 1, 0},
      {CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0},
      {CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0}};
  for (std::size_t i = 0; i < std::size(lists); ++i) {
    const std::string name = "clCreateContext (properties " + std::to_string(i) + ")";
    vary(rig, name, clCreateContext, "properties count devices notify data error", lists[i], 1, devices,
         ignore_error, nullptr, &rig.error);
    const std::string by_type = "clCreateContextFromType (properties " + std::to_string(i) + ")";
    vary(rig, by_type, clCreateContextFromType, "properties type notify data error", lists[i],
         CL_DEVICE_TYPE_ALL, ignore_error, nullptr, &rig.error);
  }
  vary(rig, "clCreateContext (data)", clCreateContext, "properties count devices notify data error", nullptr,
       1, devices, ignore_error, &rig, &rig.error);
  vary(rig, "clSetContextDestructorCallback", clSetContextDestructorCallback, "context function data",
       rig.context, ignore_context, nullptr);
}

void make_queues(Rig& rig) {
  vary(rig, "clCreateCommandQueue", clCreateCommandQueue, "context device properties error", rig.context,
       rig.device, 0, &rig.error);
  const cl_queue_properties lists[][6] = {{0},
                                          {CL_QUEUE_PROPERTIES, 0, 0},
                                          {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0},
                                          {0x7777, 1, 0},
                                          {CL_QUEUE_PROPERTIES, 1U << 20U, 0},
                                          {CL_QUEUE_SIZE, 16, 0},
                                          {CL_QUEUE_PROPERTIES, 0, CL_QUEUE_PROPERTIES, 0, 0}};
  for (std::size_t i = 0; i < std::size(lists); ++i) {
    const std::string name = "clCreateCommandQueueWithProperties (properties " + std::to_string(i) + ")";
    vary(rig, name, clCreateCommandQueueWithProperties, "context device properties error", rig.context,
         rig.device, lists[i], &rig.error);
  }
  vary(rig, "clSetDefaultDeviceCommandQueue", clSetDefaultDeviceCommandQueue, "context device queue",
       rig.context, rig.device, rig.queue);
}

void make_memory(Rig& rig) {
  vary(rig, "clCreateBuffer", clCreateBuffer, "context flags size host error", rig.context, 0, 64, nullptr,
       &rig.error);
  vary(rig, "clCreateBuffer (host)", clCreateBuffer, "context flags size host error", rig.context,
       CL_MEM_USE_HOST_PTR, 64, rig.host, &rig.error);
  const cl_mem_flags pairs[] = {CL_MEM_READ_WRITE | CL_MEM_READ_ONLY,
                                CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR,
                                CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR,
                                CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR,
                                CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY,
                                CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS,
                                CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
                                CL_MEM_KERNEL_READ_AND_WRITE,
                                cl_mem_flags{1} << 30U};
  for (const cl_mem_flags flags : pairs) {
    const std::string name = "clCreateBuffer (flags " + std::to_string(flags) + ")";
    vary(rig, name, clCreateBuffer, "context flags size host error", rig.context, flags, 64, rig.host,
         &rig.error);
  }
  const cl_mem_properties none[] = {0};
  const cl_mem_properties unknown[] = {0x7777, 1, 0};
  for (const cl_mem_properties* properties : {none, unknown}) {
    vary(rig, properties == none ? "clCreateBufferWithProperties" : "clCreateBufferWithProperties (unknown)",
         clCreateBufferWithProperties, "context properties flags size host error", rig.context, properties, 0,
         64, nullptr, &rig.error);
  }
  const cl_buffer_region regions[] = {{0, 1024}, {1024, 0},     {1024, kSize}, {kSize, 1024}, {1, 1024},
                                      {1024, 1}, {SIZE_MAX, 2}, {2, SIZE_MAX}, {0, kSize}};
  for (const cl_buffer_region& region : regions) {
    const std::string name =
        "clCreateSubBuffer (" + std::to_string(region.origin) + " " + std::to_string(region.size) + ")";
    vary(rig, name, clCreateSubBuffer, "buffer flags type region error", rig.buffer, 0,
         CL_BUFFER_CREATE_TYPE_REGION, &region, &rig.error);
  }
  for (const auto& [buffer, name] : {std::pair{rig.read_only, "of a read-only one"},
                                     {rig.write_only, "of a write-only one"},
                                     {rig.no_access, "of one without access"}}) {
    vary(rig, "clCreateSubBuffer (" + std::string(name) + ")", clCreateSubBuffer,
         "buffer flags type region error", buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, regions, &rig.error);
  }
  vary(rig, "clSetMemObjectDestructorCallback", clSetMemObjectDestructorCallback, "memory function data",
       rig.buffer, ignore_memory, nullptr);
  vary(rig, "clSVMAlloc", clSVMAlloc, "context flags size alignment", rig.context, CL_MEM_READ_WRITE, 64, 0);
}

void make_images(Rig& rig) {
  if (rig.image == nullptr) return;
  const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
  const cl_image_format formats[] = {
      {CL_RGBA, CL_FLOAT}, {0, 0}, {CL_RGBA, 0}, {0x7777, CL_UNORM_INT8}, {CL_RGB, CL_UNORM_SHORT_565}};
  const auto desc_of = [](cl_mem_object_type type, std::size_t width, std::size_t height, std::size_t depth,
                          std::size_t array, std::size_t row, std::size_t slice, cl_mem memory = nullptr) {
    return cl_image_desc{type, width, height, depth, array, row, slice, 0, 0, {memory}};
  };
  const cl_image_desc descs[] = {desc_of(CL_MEM_OBJECT_IMAGE2D, 16, 16, 0, 0, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE2D, 0, 16, 0, 0, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE2D, 16, 0, 0, 0, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE2D, 16, 16, 0, 0, 64, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE2D, 16, 16, 0, 0, 63, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE2D, 16, 16, 0, 0, 66, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE2D, 16, 16, 0, 0, 32, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE2D, 16, 16, 0, 0, 128, 128),
                                 desc_of(CL_MEM_OBJECT_IMAGE2D, 1U << 30U, 1, 0, 0, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE3D, 4, 4, 4, 0, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE3D, 4, 4, 0, 0, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE3D, 4, 4, 4, 0, 16, 65),
                                 desc_of(CL_MEM_OBJECT_IMAGE3D, 4, 4, 4, 0, 16, 32),
                                 desc_of(CL_MEM_OBJECT_IMAGE1D, 16, 0, 0, 0, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE1D_ARRAY, 16, 0, 0, 4, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE2D_ARRAY, 16, 16, 0, 0, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE1D_BUFFER, 16, 0, 0, 0, 0, 0),
                                 desc_of(CL_MEM_OBJECT_IMAGE1D_BUFFER, 16, 0, 0, 0, 0, 0, rig.buffer),
                                 desc_of(CL_MEM_OBJECT_IMAGE1D_BUFFER, kSize, 0, 0, 0, 0, 0, rig.buffer),
                                 desc_of(CL_MEM_OBJECT_BUFFER, 16, 16, 0, 0, 0, 0),
                                 desc_of(0, 16, 16, 0, 0, 0, 0)};
  for (std::size_t i = 0; i < std::size(descs); ++i) {
    for (const auto& [flags, host] :
         {std::pair<cl_mem_flags, void*>{0, nullptr}, {CL_MEM_USE_HOST_PTR, rig.host}}) {
      const std::string name =
          "clCreateImage (desc " + std::to_string(i) + (host != nullptr ? " with host memory)" : ")");
      vary(rig, name, clCreateImage, "context flags format desc host error", rig.context, flags, &format,
           &descs[i], host, &rig.error);
    }
  }
  for (std::size_t i = 0; i < std::size(formats); ++i) {
    const std::string name = "clCreateImage (format " + std::to_string(i) + ")";
    vary(rig, name, clCreateImage, "context flags format desc host error", rig.context, 0, &formats[i],
         &descs[0], nullptr, &rig.error);
  }
  vary(rig, "clCreateImage2D", clCreateImage2D, "context flags format width height row host error",
       rig.context, 0, &format, 16, 16, 0, nullptr, &rig.error);
  vary(rig, "clCreateImage3D", clCreateImage3D,
       "context flags format width height depth row slice host error", rig.context, 0, &format, 4, 4, 4, 0, 0,
       nullptr, &rig.error);
  for (const auto& [addressing, filter] : {std::pair<cl_uint, cl_uint>{CL_ADDRESS_CLAMP, CL_FILTER_NEAREST},
                                           {CL_ADDRESS_REPEAT, CL_FILTER_LINEAR},
                                           {0x7777, CL_FILTER_NEAREST}}) {
    vary(rig, "clCreateSampler (" + std::to_string(addressing) + ")", clCreateSampler,
         "context normalized addressing filter error", rig.context, CL_FALSE, addressing, filter, &rig.error);
  }
  const cl_sampler_properties lists[][6] = {
      {0},
      {0x7777, 1, 0},
      {CL_SAMPLER_NORMALIZED_COORDS, CL_TRUE, 0},
      {CL_SAMPLER_FILTER_MODE, 0x7777, 0},
      {CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST, CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST, 0}};
  for (std::size_t i = 0; i < std::size(lists); ++i) {
    const std::string name = "clCreateSamplerWithProperties (properties " + std::to_string(i) + ")";
    vary(rig, name, clCreateSamplerWithProperties, "context properties error", rig.context, lists[i],
         &rig.error);
  }
}

void make_programs(Rig& rig) {
  const char* sources[8] = {"kernel void one(global int* o) { o[0] = 1; }", "", nullptr};
  std::size_t lengths[8] = {0, 0, 0};
  vary(rig, "clCreateProgramWithSource", clCreateProgramWithSource, "context count strings lengths error",
       rig.context, 1, sources, lengths, &rig.error);
  const char* empty[8] = {"", "", ""};
  vary(rig, "clCreateProgramWithSource (empty)", clCreateProgramWithSource,
       "context count strings lengths error", rig.context, 1, empty, nullptr, &rig.error);
  vary(rig, "clCreateProgramWithIL", clCreateProgramWithIL, "context il length error", rig.context, rig.host,
       64, &rig.error);
  const cl_device_id devices[8] = {rig.device};
  const std::size_t binary_lengths[8] = {16};
  const auto* const nonsense = reinterpret_cast<const unsigned char*>("not a program at all");
  const unsigned char* binaries[8] = {nonsense};
  vary(rig, "clCreateProgramWithBinary", clCreateProgramWithBinary,
       "context count devices lengths binaries status error", rig.context, 1, devices, binary_lengths,
       binaries, reinterpret_cast<cl_int*>(&rig.number), &rig.error);
  const std::size_t no_lengths[8] = {0};
  vary(rig, "clCreateProgramWithBinary (no bytes)", clCreateProgramWithBinary,
       "context count devices lengths binaries status error", rig.context, 1, devices, no_lengths, binaries,
       reinterpret_cast<cl_int*>(&rig.number), &rig.error);
  const unsigned char* no_binaries[8] = {};
  vary(rig, "clCreateProgramWithBinary (null)", clCreateProgramWithBinary,
       "context count devices lengths binaries status error", rig.context, 1, devices, binary_lengths,
       no_binaries, reinterpret_cast<cl_int*>(&rig.number), &rig.error);
  vary(rig, "clCreateProgramWithBuiltInKernels", clCreateProgramWithBuiltInKernels,
       "context count devices names error", rig.context, 1, devices, "nonsense", &rig.error);
  const char* source = "kernel void one(global int* o) { o[0] = 1; }";
  cl_program program = clCreateProgramWithSource(rig.context, 1, &source, nullptr, nullptr);
  vary(rig, "clBuildProgram", clBuildProgram, "program count devices options notify data", program, 1,
       devices, "-DX=1", nullptr, nullptr);
  vary(rig, "clBuildProgram (notify)", clBuildProgram, "program count devices options notify data", program,
       0, nullptr, "", ignore_build, &rig);
  vary(rig, "clBuildProgram (with kernels)", clBuildProgram, "program count devices options notify data",
       rig.program, 1, devices, "", nullptr, nullptr);
  const cl_program headers[8] = {rig.unbuilt};
  const char* names[8] = {"header.h"};
  vary(rig, "clCompileProgram", clCompileProgram,
       "program count devices options headers list names notify data", program, 1, devices, "", 0, nullptr,
       nullptr, nullptr, nullptr);
  vary(rig, "clCompileProgram (headers)", clCompileProgram,
       "program count devices options headers list names notify data", program, 1, devices, "", 1, headers,
       names, nullptr, nullptr);
  const cl_program programs[8] = {program};
  vary(rig, "clLinkProgram", clLinkProgram, "context count devices options programs list notify data error",
       rig.context, 1, devices, "-create-library", 1, programs, nullptr, nullptr, &rig.error);
  vary(rig, "clLinkProgram (uncompiled)", clLinkProgram,
       "context count devices options programs list notify data error", rig.context, 0, nullptr, nullptr, 1,
       headers, nullptr, nullptr, &rig.error);
  clReleaseProgram(program);
  vary(rig, "clSetProgramSpecializationConstant", clSetProgramSpecializationConstant,
       "program constant size value", rig.program, 0, 4, rig.host);
  vary(rig, "clUnloadPlatformCompiler", clUnloadPlatformCompiler, "platform", rig.platform);
}

void make_kernels(Rig& rig) {
  for (const char* name : {"one", "nothing", ""}) {
    vary(rig, "clCreateKernel (" + std::string(name) + ")", clCreateKernel, "program name error", rig.program,
         name, &rig.error);
  }
  cl_kernel kernels[8] = {};
  vary_and(
      rig, "clCreateKernelsInProgram", clCreateKernelsInProgram, "program count kernels number",
      [&](Word result) {
        if (from_word<cl_int>(result) == CL_SUCCESS && kernels[0] != nullptr) clReleaseKernel(kernels[0]);
        kernels[0] = nullptr;
      },
      rig.program, 1, kernels, &rig.number);
  vary(rig, "clCloneKernel", clCloneKernel, "kernel error", rig.kernel, &rig.error);
  for (const auto& [argument, name] : {std::pair<const void*, const char*>{&rig.buffer, "buffer"},
                                       {&rig.image, "image"},
                                       {&rig.sampler, "sampler"},
                                       {&rig.other_buffer, "other"}}) {
    // Much memory follows it, since some sizes are wrong.
    std::byte* const value = rig.host + (std::size_t{1} << 20U);
    std::memcpy(value, argument, sizeof(void*));
    for (cl_uint index = 0; index < 3; ++index) {
      vary(rig, "clSetKernelArg (" + std::to_string(index) + " " + name + ")", clSetKernelArg,
           "kernel index size value", rig.unset, index, index == 1 ? 4 : 8, value);
    }
  }
  vary(rig, "clSetKernelArgSVMPointer", clSetKernelArgSVMPointer, "kernel index value", rig.unset, 0,
       rig.svm);
  vary(rig, "clSetKernelArgSVMPointer (of the host)", clSetKernelArgSVMPointer, "kernel index value",
       rig.unset, 0, rig.host);
  auto* const pointers = reinterpret_cast<void**>(rig.host + (std::size_t{2} << 20U));
  pointers[0] = rig.svm;
  vary(rig, "clSetKernelExecInfo", clSetKernelExecInfo, "kernel name size value", rig.unset,
       CL_KERNEL_EXEC_INFO_SVM_PTRS, rig.svm == nullptr ? 0 : 8, pointers);
  vary(rig, "clSetKernelExecInfo (system)", clSetKernelExecInfo, "kernel name size value", rig.unset,
       CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof(cl_bool), rig.host);
}

void make_events(Rig& rig) {
  vary(rig, "clCreateUserEvent", clCreateUserEvent, "context error", rig.context, &rig.error);
  vary(rig, "clSetUserEventStatus (again)", clSetUserEventStatus, "event status", rig.ended, CL_COMPLETE);
  for (const cl_int status : {CL_COMPLETE, CL_RUNNING, -1}) {
    cl_event fresh = clCreateUserEvent(rig.context, nullptr);
    const std::string name = "clSetUserEventStatus (" + std::to_string(status) + ")";
    run_case(name, [&] { return std::to_string(clSetUserEventStatus(fresh, status)); });
    clSetUserEventStatus(fresh, CL_COMPLETE);
    clReleaseEvent(fresh);
  }
  cl_event marker = nullptr;
  clEnqueueMarkerWithWaitList(rig.queue, 0, nullptr, &marker);
  clFinish(rig.queue);
  vary(rig, "clSetUserEventStatus (a command's)", clSetUserEventStatus, "event status", marker, CL_COMPLETE);
  vary(rig, "clSetEventCallback", clSetEventCallback, "event status function data", rig.ended, CL_COMPLETE,
       ignore_event, nullptr);
  vary(rig, "clSetEventCallback (a command's)", clSetEventCallback, "event status function data", marker,
       CL_COMPLETE, ignore_event, nullptr);
  clReleaseEvent(marker);
}

}  // namespace

void call_objects(Rig& rig) {
  make_contexts(rig);
  make_queues(rig);
  make_memory(rig);
  make_images(rig);
  make_programs(rig);
  make_kernels(rig);
  make_events(rig);
  vary(rig, "clRetainContext", clRetainContext, "context", nullptr);
  vary(rig, "clReleaseContext", clReleaseContext, "context", nullptr);
  vary(rig, "clRetainCommandQueue", clRetainCommandQueue, "queue", nullptr);
  vary(rig, "clReleaseCommandQueue", clReleaseCommandQueue, "queue", nullptr);
  vary(rig, "clRetainMemObject", clRetainMemObject, "memory", nullptr);
  vary(rig, "clReleaseMemObject", clReleaseMemObject, "memory", nullptr);
  vary(rig, "clRetainProgram", clRetainProgram, "program", nullptr);
  vary(rig, "clReleaseProgram", clReleaseProgram, "program", nullptr);
  vary(rig, "clRetainKernel", clRetainKernel, "kernel", nullptr);
  vary(rig, "clReleaseKernel", clReleaseKernel, "kernel", nullptr);
  vary(rig, "clRetainEvent", clRetainEvent, "event", nullptr);
  vary(rig, "clReleaseEvent", clReleaseEvent, "event", nullptr);
  vary(rig, "clRetainSampler", clRetainSampler, "sampler", nullptr);
  vary(rig, "clReleaseSampler", clReleaseSampler, "sampler", nullptr);
  vary(rig, "clRetainDevice", clRetainDevice, "device", rig.device);
  vary(rig, "clReleaseDevice", clReleaseDevice, "device", rig.device);
}

}  // namespace bad
