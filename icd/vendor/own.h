// What types cannot tell (vendor/translate.h): the functions written by hand, and those of which somebody has
// made sure that types are enough although they do not look like it.
//
// kOwn<&Table::clX> is the function of ours, or null where the types decide.
#pragma once

#include <type_traits>

#include "icd/vendor/callbacks.h"
#include "icd/vendor/extension_functions.h"
#include "icd/vendor/info.h"
#include "icd/vendor/references.h"
#include "icd/vendor/translate.h"
#include "icd/vendor/written.h"

namespace cleave::vendor {

template <auto Entry>
inline constexpr std::nullptr_t kOwn = nullptr;
template <auto Entry>
inline constexpr bool kTypesAreEnough = false;

#define CLEAVE_OWN(function, ...) \
  template <>                     \
  inline constexpr FunctionAt<&Table::function> kOwn<&Table::function> = __VA_ARGS__
#define CLEAVE_OWN_EXTENSION(function, ...)                                                        \
  template <>                                                                                      \
  inline constexpr FunctionAt<&ExtensionFunctions::function> kOwn<&ExtensionFunctions::function> = \
      __VA_ARGS__
#define CLEAVE_BY_TYPE(function) \
  template <>                    \
  inline constexpr bool kTypesAreEnough<&Table::function> = true

// platforms.cpp, devices.cpp, extensions.cpp
CLEAVE_OWN(clGetPlatformIDs, get_platform_ids);
CLEAVE_OWN(clGetPlatformInfo, get_platform_info);
CLEAVE_OWN(clGetDeviceIDs, get_device_ids);
CLEAVE_OWN(clGetDeviceInfo, get_device_info);
CLEAVE_OWN(clCreateSubDevices, create_sub_devices);
CLEAVE_OWN(clCreateSubDevicesEXT, create_sub_devices_ext);
CLEAVE_OWN(clGetExtensionFunctionAddress, get_extension_function_address);
CLEAVE_OWN(clGetExtensionFunctionAddressForPlatform, get_extension_function_address_for_platform);

// contexts.cpp
CLEAVE_OWN(clCreateContext, create_context);
CLEAVE_OWN(clCreateContextFromType, create_context_from_type);
CLEAVE_OWN(clGetContextInfo, get_context_info);
CLEAVE_OWN(clSetDefaultDeviceCommandQueue, set_default_device_command_queue);
CLEAVE_OWN(clGetGLContextInfoKHR, get_gl_context_info);

// memory.cpp
CLEAVE_OWN(clCreateImage, create_image);
CLEAVE_OWN(clCreateImageWithProperties, create_image_with_properties);
CLEAVE_OWN(clCreateBufferWithProperties, create_buffer_with_properties);
CLEAVE_OWN(clGetMemObjectInfo, get_mem_object_info);
CLEAVE_OWN_EXTENSION(clCreateBufferWithPropertiesINTEL, create_buffer_with_properties_intel);
CLEAVE_OWN_EXTENSION(clSharedMemAllocINTEL, shared_mem_alloc_intel);
CLEAVE_OWN_EXTENSION(clGetMemAllocInfoINTEL, get_mem_alloc_info_intel);

// kernels.cpp
CLEAVE_OWN(clCreateKernelsInProgram, create_kernels_in_program);
CLEAVE_OWN(clSetKernelArg, set_kernel_arg);

// callbacks.cpp
CLEAVE_OWN(clSetEventCallback, set_event_callback);
CLEAVE_OWN(clBuildProgram, build_program);
CLEAVE_OWN(clCompileProgram, compile_program);
CLEAVE_OWN(clLinkProgram, link_program);
CLEAVE_OWN(clEnqueueSVMFree, enqueue_svm_free);
CLEAVE_OWN(clSetMemObjectDestructorCallback, NotifyAtEnd<&Table::clSetMemObjectDestructorCallback>::call);
CLEAVE_OWN(clSetContextDestructorCallback, NotifyAtEnd<&Table::clSetContextDestructorCallback>::call);
CLEAVE_OWN(clSetProgramReleaseCallback, NotifyAtEnd<&Table::clSetProgramReleaseCallback>::call);
CLEAVE_OWN_EXTENSION(clSetMemObjectDestructorAPPLE,
                     NotifyAtEnd<&ExtensionFunctions::clSetMemObjectDestructorAPPLE>::call);

// The user's function gets memory addresses that the driver puts into a copy of its arguments; the handles
// are in the list alone.
CLEAVE_OWN(clEnqueueNativeKernel, Through<&Table::clEnqueueNativeKernel>::call);

// Queries that answer with handles.
CLEAVE_OWN(clGetCommandQueueInfo,
           Query<&Table::clGetCommandQueueInfo, Answer{CL_QUEUE_CONTEXT, Kind::context},
                 Answer{CL_QUEUE_DEVICE, Kind::device}, Answer{CL_QUEUE_DEVICE_DEFAULT, Kind::queue}>::call);
CLEAVE_OWN(clGetImageInfo, Query<&Table::clGetImageInfo, Answer{CL_IMAGE_BUFFER, Kind::memory}>::call);
CLEAVE_OWN(clGetSamplerInfo,
           Query<&Table::clGetSamplerInfo, Answer{CL_SAMPLER_CONTEXT, Kind::context}>::call);
CLEAVE_OWN(clGetProgramInfo, Query<&Table::clGetProgramInfo, Answer{CL_PROGRAM_CONTEXT, Kind::context},
                                   Answer{CL_PROGRAM_DEVICES, Kind::device}>::call);
CLEAVE_OWN(clGetKernelInfo, Query<&Table::clGetKernelInfo, Answer{CL_KERNEL_CONTEXT, Kind::context},
                                  Answer{CL_KERNEL_PROGRAM, Kind::program}>::call);
CLEAVE_OWN(clGetEventInfo, Query<&Table::clGetEventInfo, Answer{CL_EVENT_COMMAND_QUEUE, Kind::queue},
                                 Answer{CL_EVENT_CONTEXT, Kind::context}>::call);

CLEAVE_OWN(clGetKernelWorkGroupInfo, OnDevice<&Table::clGetKernelWorkGroupInfo>::call);
CLEAVE_OWN(clGetKernelSubGroupInfo, OnDevice<&Table::clGetKernelSubGroupInfo>::call);
CLEAVE_OWN(clGetKernelSubGroupInfoKHR, OnDevice<&Table::clGetKernelSubGroupInfoKHR>::call);

// Queries that do not.
CLEAVE_BY_TYPE(clGetPipeInfo);
CLEAVE_BY_TYPE(clGetProgramBuildInfo);
CLEAVE_BY_TYPE(clGetKernelArgInfo);
CLEAVE_BY_TYPE(clGetEventProfilingInfo);
CLEAVE_BY_TYPE(clGetGLTextureInfo);

// Lists of properties that have no handles in them.
CLEAVE_BY_TYPE(clCreateCommandQueueWithProperties);
CLEAVE_BY_TYPE(clCreateSamplerWithProperties);
CLEAVE_BY_TYPE(clCreatePipe);
CLEAVE_BY_TYPE(clCreateFromEGLImageKHR);
CLEAVE_BY_TYPE(clSetCommandQueueProperty);

#define CLEAVE_COUNTED(retain, release)             \
  CLEAVE_OWN(retain, Retain<&Table::retain>::call); \
  CLEAVE_OWN(release, Release<&Table::release>::call)
CLEAVE_COUNTED(clRetainDevice, clReleaseDevice);
CLEAVE_COUNTED(clRetainDeviceEXT, clReleaseDeviceEXT);
CLEAVE_COUNTED(clRetainContext, clReleaseContext);
CLEAVE_COUNTED(clRetainCommandQueue, clReleaseCommandQueue);
CLEAVE_COUNTED(clRetainMemObject, clReleaseMemObject);
CLEAVE_COUNTED(clRetainSampler, clReleaseSampler);
CLEAVE_COUNTED(clRetainProgram, clReleaseProgram);
CLEAVE_COUNTED(clRetainKernel, clReleaseKernel);
CLEAVE_COUNTED(clRetainEvent, clReleaseEvent);
#undef CLEAVE_COUNTED

// What programs call in place of `Entry`.
template <auto Entry>
constexpr FunctionAt<Entry> translated() {
  if constexpr (std::is_null_pointer_v<std::remove_cv_t<decltype(kOwn<Entry>)>>) {
    static_assert(kTypesAreEnough<Entry> || ByType<FunctionAt<Entry>>::enough,
                  "a function with handles that types do not tell of: write it by hand (own.h)");
    return Through<Entry>::call;
  } else {
    return kOwn<Entry>;
  }
}

}  // namespace cleave::vendor
