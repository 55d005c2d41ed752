// What types cannot tell (vendor/translate.h): the functions written by hand, and those of which somebody has
// made sure that types are enough although they do not look like it.
//
// kHandWritten<&Table::clX> is the function of ours, or null where the types decide.
#pragma once

#include <type_traits>

#include "icd/vendor/callbacks.h"
#include "icd/vendor/functions.h"
#include "icd/vendor/handle_queries.h"
#include "icd/vendor/reference_counting.h"
#include "icd/vendor/translate.h"
#include "opencl/extension_functions.h"

namespace cleave::vendor {

template <auto Entry>
inline constexpr std::nullptr_t kHandWritten = nullptr;
template <auto Entry>
inline constexpr bool kTypesAreEnough = false;

#define CLEAVE_OWN(function, ...) \
  template <>                     \
  inline constexpr FunctionAt<&Table::function> kHandWritten<&Table::function> = __VA_ARGS__
#define CLEAVE_OWN_EXTENSION(function, ...)                                                                \
  template <>                                                                                              \
  inline constexpr FunctionAt<&ExtensionFunctions::function> kHandWritten<&ExtensionFunctions::function> = \
      __VA_ARGS__
#define CLEAVE_BY_TYPE(function) \
  template <>                    \
  inline constexpr bool kTypesAreEnough<&Table::function> = true

// platforms.cpp, devices.cpp, extensions.cpp
CLEAVE_OWN(clGetPlatformIDs, clGetPlatformIDs);
CLEAVE_OWN(clGetPlatformInfo, clGetPlatformInfo);
CLEAVE_OWN(clGetDeviceIDs, clGetDeviceIDs);
CLEAVE_OWN(clGetDeviceInfo, clGetDeviceInfo);
CLEAVE_OWN(clCreateSubDevices, clCreateSubDevices);
CLEAVE_OWN(clCreateSubDevicesEXT, clCreateSubDevicesEXT);
CLEAVE_OWN(clGetExtensionFunctionAddress, clGetExtensionFunctionAddress);
CLEAVE_OWN(clGetExtensionFunctionAddressForPlatform, clGetExtensionFunctionAddressForPlatform);

// contexts.cpp
CLEAVE_OWN(clCreateContext, clCreateContext);
CLEAVE_OWN(clCreateContextFromType, clCreateContextFromType);
CLEAVE_OWN(clGetContextInfo, clGetContextInfo);
CLEAVE_OWN(clSetDefaultDeviceCommandQueue, clSetDefaultDeviceCommandQueue);
CLEAVE_OWN(clGetGLContextInfoKHR, clGetGLContextInfoKHR);

// memory.cpp
CLEAVE_OWN(clCreateImage, clCreateImage);
CLEAVE_OWN(clCreateImageWithProperties, clCreateImageWithProperties);
CLEAVE_OWN(clCreateBufferWithProperties, clCreateBufferWithProperties);
CLEAVE_OWN(clGetMemObjectInfo, clGetMemObjectInfo);
CLEAVE_OWN_EXTENSION(clCreateBufferWithPropertiesINTEL, clCreateBufferWithPropertiesINTEL);
CLEAVE_OWN_EXTENSION(clSharedMemAllocINTEL, clSharedMemAllocINTEL);
CLEAVE_OWN_EXTENSION(clGetMemAllocInfoINTEL, clGetMemAllocInfoINTEL);

// kernels.cpp
CLEAVE_OWN(clCreateKernelsInProgram, clCreateKernelsInProgram);
CLEAVE_OWN(clSetKernelArg, clSetKernelArg);

// callbacks.cpp
CLEAVE_OWN(clSetEventCallback, clSetEventCallback);
CLEAVE_OWN(clBuildProgram, clBuildProgram);
CLEAVE_OWN(clCompileProgram, clCompileProgram);
CLEAVE_OWN(clLinkProgram, clLinkProgram);
CLEAVE_OWN(clEnqueueSVMFree, clEnqueueSVMFree);
CLEAVE_OWN(clSetMemObjectDestructorCallback,
           DestructorCallback<&Table::clSetMemObjectDestructorCallback>::call);
CLEAVE_OWN(clSetContextDestructorCallback, DestructorCallback<&Table::clSetContextDestructorCallback>::call);
CLEAVE_OWN(clSetProgramReleaseCallback, DestructorCallback<&Table::clSetProgramReleaseCallback>::call);
CLEAVE_OWN_EXTENSION(clSetMemObjectDestructorAPPLE,
                     DestructorCallback<&ExtensionFunctions::clSetMemObjectDestructorAPPLE>::call);

// The user's function gets memory addresses that the driver puts into a copy of its arguments; the handles
// are in the list alone.
CLEAVE_OWN(clEnqueueNativeKernel, TranslatedCall<&Table::clEnqueueNativeKernel>::call);

// Queries that answer with handles.
CLEAVE_OWN(clGetCommandQueueInfo,
           HandleQuery<&Table::clGetCommandQueueInfo, HandleParam{CL_QUEUE_CONTEXT, Kind::context},
                       HandleParam{CL_QUEUE_DEVICE, Kind::device},
                       HandleParam{CL_QUEUE_DEVICE_DEFAULT, Kind::queue}>::call);
CLEAVE_OWN(clGetImageInfo,
           HandleQuery<&Table::clGetImageInfo, HandleParam{CL_IMAGE_BUFFER, Kind::memory}>::call);
CLEAVE_OWN(clGetSamplerInfo,
           HandleQuery<&Table::clGetSamplerInfo, HandleParam{CL_SAMPLER_CONTEXT, Kind::context}>::call);
CLEAVE_OWN(clGetProgramInfo,
           HandleQuery<&Table::clGetProgramInfo, HandleParam{CL_PROGRAM_CONTEXT, Kind::context},
                       HandleParam{CL_PROGRAM_DEVICES, Kind::device}>::call);
CLEAVE_OWN(clGetKernelInfo,
           HandleQuery<&Table::clGetKernelInfo, HandleParam{CL_KERNEL_CONTEXT, Kind::context},
                       HandleParam{CL_KERNEL_PROGRAM, Kind::program}>::call);
CLEAVE_OWN(clGetEventInfo,
           HandleQuery<&Table::clGetEventInfo, HandleParam{CL_EVENT_COMMAND_QUEUE, Kind::queue},
                       HandleParam{CL_EVENT_CONTEXT, Kind::context}>::call);

CLEAVE_OWN(clGetKernelWorkGroupInfo, KernelDeviceQuery<&Table::clGetKernelWorkGroupInfo>::call);
CLEAVE_OWN(clGetKernelSubGroupInfo, KernelDeviceQuery<&Table::clGetKernelSubGroupInfo>::call);
CLEAVE_OWN(clGetKernelSubGroupInfoKHR, KernelDeviceQuery<&Table::clGetKernelSubGroupInfoKHR>::call);

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
  if constexpr (std::is_null_pointer_v<std::remove_cv_t<decltype(kHandWritten<Entry>)>>) {
    static_assert(kTypesAreEnough<Entry> || TranslatableByType<FunctionAt<Entry>>::enough,
                  "a function with handles that types do not tell of: write it by hand (own.h)");
    return TranslatedCall<Entry>::call;
  } else {
    return kHandWritten<Entry>;
  }
}

}  // namespace cleave::vendor
