// The functions that are written by hand. Each stands in the file of its topic.
#pragma once

#include "icd/vendor/translate.h"
#include "opencl/extension_functions.h"

namespace cleave::vendor {

using ContextNotify = void(CL_CALLBACK*)(const char*, const void*, size_t, void*);

cl_int CL_API_CALL clGetPlatformIDs(cl_uint entries, cl_platform_id* platforms, cl_uint* count);
cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id handle, cl_platform_info name, size_t size, void* value,
                                     size_t* size_ret);
cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id handle, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count);
cl_int CL_API_CALL clGetDeviceInfo(cl_device_id handle, cl_device_info name, size_t size, void* value,
                                   size_t* size_ret);
cl_int CL_API_CALL clCreateSubDevices(cl_device_id handle, const cl_device_partition_property* properties,
                                      cl_uint entries, cl_device_id* devices, cl_uint* count);
cl_int CL_API_CALL clCreateSubDevicesEXT(cl_device_id handle,
                                         const cl_device_partition_property_ext* properties, cl_uint entries,
                                         cl_device_id* devices, cl_uint* count);
void* CL_API_CALL clGetExtensionFunctionAddress(const char* name);
void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id handle, const char* name);

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint count,
                                       const cl_device_id* devices, ContextNotify notify, void* user_data,
                                       cl_int* error_ret);
cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties* properties, cl_device_type type,
                                               ContextNotify notify, void* user_data, cl_int* error_ret);
cl_int CL_API_CALL clGetContextInfo(cl_context handle, cl_context_info name, size_t size, void* value,
                                    size_t* size_ret);
cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context handle, cl_device_id device_handle,
                                                  cl_command_queue queue_handle);
cl_int CL_API_CALL clGetGLContextInfoKHR(const cl_context_properties* properties, cl_gl_context_info name,
                                         size_t size, void* value, size_t* size_ret);

cl_mem CL_API_CALL clCreateImage(cl_context handle, cl_mem_flags flags, const cl_image_format* format,
                                 const cl_image_desc* description, void* host, cl_int* error_ret);
cl_mem CL_API_CALL clCreateImageWithProperties(cl_context handle, const cl_mem_properties* properties,
                                               cl_mem_flags flags, const cl_image_format* format,
                                               const cl_image_desc* description, void* host,
                                               cl_int* error_ret);
cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context handle, const cl_mem_properties* properties,
                                                cl_mem_flags flags, size_t size, void* host,
                                                cl_int* error_ret);
cl_mem CL_API_CALL clCreateBufferWithPropertiesINTEL(cl_context handle, const cl_properties* properties,
                                                     cl_mem_flags flags, size_t size, void* host,
                                                     cl_int* error_ret);
cl_int CL_API_CALL clGetMemObjectInfo(cl_mem handle, cl_mem_info name, size_t size, void* value,
                                      size_t* size_ret);
void* CL_API_CALL clSharedMemAllocINTEL(cl_context handle, cl_device_id device,
                                        const cl_properties* properties, size_t size, cl_uint alignment,
                                        cl_int* error_ret);
cl_int CL_API_CALL clGetMemAllocInfoINTEL(cl_context handle, const void* memory, cl_uint name, size_t size,
                                          void* value, size_t* size_ret);

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program handle, cl_uint entries, cl_kernel* kernels,
                                            cl_uint* count);
cl_int CL_API_CALL clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void* value);

}  // namespace cleave::vendor
