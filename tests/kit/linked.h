// The kit's functions as the program is linked with them, or as an opened library exports them. For programs that
// know nothing of Cleave.
#pragma once

#include <dlfcn.h>

#include "tests/kit/opencl.h"

namespace kit {

// Every function that the verbs of `Api` call, and those that tests call by name. Others are null in these tables.
// clang-format off
#define KIT_FUNCTIONS(X) \
  X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) \
  X(clRetainContext) X(clReleaseContext) X(clGetContextInfo) X(clCreateCommandQueue) \
  X(clCreateCommandQueueWithProperties) X(clRetainCommandQueue) X(clReleaseCommandQueue) \
  X(clGetCommandQueueInfo) X(clCreateBuffer) X(clCreateSubBuffer) X(clCreateImage) X(clRetainMemObject) \
  X(clReleaseMemObject) X(clGetMemObjectInfo) X(clGetImageInfo) X(clCreateSampler) X(clReleaseSampler) \
  X(clGetSamplerInfo) X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clRetainProgram) \
  X(clReleaseProgram) X(clBuildProgram) X(clCompileProgram) X(clLinkProgram) X(clGetProgramInfo) \
  X(clGetProgramBuildInfo) X(clCreateKernel) X(clCreateKernelsInProgram) X(clRetainKernel) \
  X(clReleaseKernel) X(clSetKernelArg) X(clGetKernelInfo) X(clGetKernelWorkGroupInfo) X(clWaitForEvents) \
  X(clGetEventInfo) X(clCreateUserEvent) X(clRetainEvent) X(clReleaseEvent) X(clSetUserEventStatus) \
  X(clSetEventCallback) X(clGetEventProfilingInfo) X(clFlush) X(clFinish) X(clEnqueueReadBuffer) \
  X(clEnqueueReadBufferRect) X(clEnqueueWriteBuffer) X(clEnqueueWriteBufferRect) X(clEnqueueCopyBuffer) \
  X(clEnqueueCopyBufferRect) X(clEnqueueFillBuffer) X(clEnqueueReadImage) X(clEnqueueWriteImage) \
  X(clEnqueueCopyImage) X(clEnqueueCopyImageToBuffer) X(clEnqueueCopyBufferToImage) X(clEnqueueFillImage) \
  X(clEnqueueMapBuffer) X(clEnqueueMapImage) X(clEnqueueUnmapMemObject) X(clEnqueueMigrateMemObjects) \
  X(clEnqueueNDRangeKernel) X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) X(clSVMAlloc) \
  X(clSVMFree) X(clEnqueueSVMMemcpy) X(clEnqueueSVMMemFill) X(clEnqueueSVMMap) X(clEnqueueSVMUnmap) \
  X(clSetKernelArgSVMPointer) X(clGetExtensionFunctionAddressForPlatform)
// clang-format on

// Of the OpenCL library that this program is linked with.
inline cl_icd_dispatch linked_table() {
  cl_icd_dispatch table{};
#define KIT_LINKED(name) table.name = &::name;
  KIT_FUNCTIONS(KIT_LINKED)
#undef KIT_LINKED
  return table;
}

// As `find` finds them by name; null where that is null.
template <class Find>
cl_icd_dispatch found_table(const Find& find) {
  cl_icd_dispatch table{};
#define KIT_FOUND(name) table.name = reinterpret_cast<decltype(table.name)>(find(#name));
  KIT_FUNCTIONS(KIT_FOUND)
#undef KIT_FOUND
  return table;
}

// Of a library that was opened with dlopen. A driver exports hardly anything: what is missing is looked up as loaders do,
// and null if it is not there either.
inline cl_icd_dispatch opened_table(void* library) {
  const auto ask = reinterpret_cast<decltype(&clGetExtensionFunctionAddress)>(
      dlsym(library, "clGetExtensionFunctionAddress"));
  return found_table([&](const char* name) {
    void* const exported = dlsym(library, name);
    return exported == nullptr && ask != nullptr ? ask(name) : exported;
  });
}

}  // namespace kit
