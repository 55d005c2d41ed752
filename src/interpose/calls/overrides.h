// The functions that Cleave answers itself. Each does what its namesake of OpenCL does, by way of
// interposer().next, and keeps the records on the way. None throws; none is reached before install().
//
// Parameters, results and errors are those of OpenCL 3.0. Thread-safe as far as OpenCL's own functions are.
#pragma once

#include <string>

#include "base/opencl.h"

namespace cleave::interpose {

// enqueue.cpp
cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue, cl_kernel, cl_uint dims, const size_t* offset,
                                          const size_t* global, const size_t* local, cl_uint waits,
                                          const cl_event* wait_list, cl_event* event) noexcept;

cl_int CL_API_CALL clEnqueueTask(cl_command_queue, cl_kernel, cl_uint waits, const cl_event* wait_list,
                                 cl_event* event) noexcept;

// clCommandNDRangeKernelKHR of cl_khr_command_buffer, whose types differ between versions of the headers.
cl_int CL_API_CALL clCommandNDRangeKernelKHR(void* command_buffer, cl_command_queue, const void* properties,
                                             cl_kernel, cl_uint dims, const size_t* offset,
                                             const size_t* global, const size_t* local, cl_uint points,
                                             const cl_uint* point_list, cl_uint* point,
                                             void* mutable_handle) noexcept;

// programs.cpp
// Builds a program that was built with the prelude once more, as it came, for drivers that build it and then
// fail to make kernels. `kernel` is the one that failed, or null for all: a name that is nowhere in the text
// is the program's own mistake. Says whether it is built now.
bool build_without_prelude(cl_program program, const char* kernel) noexcept;

// The driver's whole build log; empty if there is none. May throw std::bad_alloc.
std::string program_log(const Table& next, cl_program, cl_device_id);

cl_program CL_API_CALL clCreateProgramWithSource(cl_context, cl_uint count, const char** strings,
                                                 const size_t* lengths, cl_int* error) noexcept;
cl_int CL_API_CALL clBuildProgram(cl_program, cl_uint count, const cl_device_id*, const char* options,
                                  void(CL_CALLBACK* notify)(cl_program, void*), void* data) noexcept;
cl_int CL_API_CALL clCompileProgram(cl_program, cl_uint count, const cl_device_id*, const char* options,
                                    cl_uint headers, const cl_program* header_programs,
                                    const char** header_names, void(CL_CALLBACK* notify)(cl_program, void*),
                                    void* data) noexcept;
cl_program CL_API_CALL clLinkProgram(cl_context, cl_uint count, const cl_device_id*, const char* options,
                                     cl_uint inputs, const cl_program* input_programs,
                                     void(CL_CALLBACK* notify)(cl_program, void*), void* data,
                                     cl_int* error) noexcept;

// program_info.cpp
cl_int CL_API_CALL clGetProgramInfo(cl_program, cl_program_info, size_t size, void* value,
                                    size_t* size_ret) noexcept;
cl_int CL_API_CALL clGetProgramBuildInfo(cl_program, cl_device_id, cl_program_build_info, size_t size,
                                         void* value, size_t* size_ret) noexcept;

// opaque_programs.cpp
cl_program CL_API_CALL clCreateProgramWithBinary(cl_context, cl_uint count, const cl_device_id*,
                                                 const size_t* lengths, const unsigned char** binaries,
                                                 cl_int* statuses, cl_int* error) noexcept;
cl_program CL_API_CALL clCreateProgramWithIL(cl_context, const void* il, size_t length,
                                             cl_int* error) noexcept;
cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context, cl_uint count, const cl_device_id*,
                                                         const char* names, cl_int* error) noexcept;

// kernels.cpp
cl_kernel CL_API_CALL clCreateKernel(cl_program, const char* name, cl_int* error) noexcept;
cl_int CL_API_CALL clCreateKernelsInProgram(cl_program, cl_uint count, cl_kernel* kernels,
                                            cl_uint* count_ret) noexcept;
cl_kernel CL_API_CALL clCloneKernel(cl_kernel, cl_int* error) noexcept;

// queues.cpp
cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context, cl_device_id, cl_command_queue_properties,
                                                  cl_int* error) noexcept;
cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context, cl_device_id,
                                                                const cl_queue_properties*,
                                                                cl_int* error) noexcept;
cl_command_queue CL_API_CALL clCreateCommandQueueWithPropertiesKHR(cl_context, cl_device_id,
                                                                   const cl_queue_properties*,
                                                                   cl_int* error) noexcept;
cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue, cl_command_queue_properties, cl_bool enable,
                                             cl_command_queue_properties* old) noexcept;
cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue) noexcept;
cl_int CL_API_CALL clGetContextInfo(cl_context, cl_context_info, size_t size, void* value,
                                    size_t* size_ret) noexcept;

// events.cpp
cl_event CL_API_CALL clCreateUserEvent(cl_context, cl_int* error) noexcept;
cl_int CL_API_CALL clSetUserEventStatus(cl_event, cl_int status) noexcept;
cl_int CL_API_CALL clRetainEvent(cl_event) noexcept;
cl_int CL_API_CALL clReleaseEvent(cl_event) noexcept;
cl_int CL_API_CALL clGetEventInfo(cl_event, cl_event_info, size_t size, void* value,
                                  size_t* size_ret) noexcept;
cl_int CL_API_CALL clGetEventProfilingInfo(cl_event, cl_profiling_info, size_t size, void* value,
                                           size_t* size_ret) noexcept;
cl_int CL_API_CALL clSetEventCallback(cl_event, cl_int type,
                                      void(CL_CALLBACK* notify)(cl_event, cl_int, void*),
                                      void* data) noexcept;

// waiting.cpp. Not noexcept, so that they can end in a jump to the driver: a thread that is cancelled there
// leaves it as it would without us.
cl_int CL_API_CALL clFinish(cl_command_queue);
cl_int CL_API_CALL clWaitForEvents(cl_uint count, const cl_event* events);

// extensions.cpp
void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) noexcept;
void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id, const char* name) noexcept;

// info.cpp: clGetCleaveInfo, see include/cleave/cleave.h
cl_int CL_API_CALL get_cleave_info(cl_device_id, cl_uint name, size_t size, void* value,
                                   size_t* size_ret) noexcept;

}  // namespace cleave::interpose
