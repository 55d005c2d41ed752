// The functions that are written by hand. Each stands in the file of its topic.
#pragma once

#include "icd/vendor/extension_functions.h"
#include "icd/vendor/translate.h"

namespace cleave::vendor {

using ContextNotify = void(CL_CALLBACK*)(const char*, const void*, size_t, void*);

cl_int CL_API_CALL get_platform_ids(cl_uint entries, cl_platform_id* platforms, cl_uint* count);
cl_int CL_API_CALL get_platform_info(cl_platform_id handle, cl_platform_info name, size_t size, void* value,
                                     size_t* size_ret);
cl_int CL_API_CALL get_device_ids(cl_platform_id handle, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count);
cl_int CL_API_CALL get_device_info(cl_device_id handle, cl_device_info name, size_t size, void* value,
                                   size_t* size_ret);
cl_int CL_API_CALL create_sub_devices(cl_device_id handle, const cl_device_partition_property* properties,
                                      cl_uint entries, cl_device_id* devices, cl_uint* count);
cl_int CL_API_CALL create_sub_devices_ext(cl_device_id handle,
                                          const cl_device_partition_property_ext* properties, cl_uint entries,
                                          cl_device_id* devices, cl_uint* count);
void* CL_API_CALL get_extension_function_address(const char* name);
void* CL_API_CALL get_extension_function_address_for_platform(cl_platform_id handle, const char* name);

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices, ContextNotify notify, void* user_data,
                                      cl_int* error_ret);
cl_context CL_API_CALL create_context_from_type(const cl_context_properties* properties, cl_device_type type,
                                                ContextNotify notify, void* user_data, cl_int* error_ret);
cl_int CL_API_CALL get_context_info(cl_context handle, cl_context_info name, size_t size, void* value,
                                    size_t* size_ret);
cl_int CL_API_CALL set_default_device_command_queue(cl_context handle, cl_device_id device_handle,
                                                    cl_command_queue queue_handle);
cl_int CL_API_CALL get_gl_context_info(const cl_context_properties* properties, cl_gl_context_info name,
                                       size_t size, void* value, size_t* size_ret);

cl_mem CL_API_CALL create_image(cl_context handle, cl_mem_flags flags, const cl_image_format* format,
                                const cl_image_desc* description, void* host, cl_int* error_ret);
cl_mem CL_API_CALL create_image_with_properties(cl_context handle, const cl_mem_properties* properties,
                                                cl_mem_flags flags, const cl_image_format* format,
                                                const cl_image_desc* description, void* host,
                                                cl_int* error_ret);
cl_mem CL_API_CALL create_buffer_with_properties(cl_context handle, const cl_mem_properties* properties,
                                                 cl_mem_flags flags, size_t size, void* host,
                                                 cl_int* error_ret);
cl_mem CL_API_CALL create_buffer_with_properties_intel(cl_context handle, const cl_properties* properties,
                                                       cl_mem_flags flags, size_t size, void* host,
                                                       cl_int* error_ret);
cl_int CL_API_CALL get_mem_object_info(cl_mem handle, cl_mem_info name, size_t size, void* value,
                                       size_t* size_ret);
void* CL_API_CALL shared_mem_alloc_intel(cl_context handle, cl_device_id device,
                                         const cl_properties* properties, size_t size, cl_uint alignment,
                                         cl_int* error_ret);
cl_int CL_API_CALL get_mem_alloc_info_intel(cl_context handle, const void* memory, cl_uint name, size_t size,
                                            void* value, size_t* size_ret);

cl_int CL_API_CALL create_kernels_in_program(cl_program handle, cl_uint entries, cl_kernel* kernels,
                                             cl_uint* count);
cl_int CL_API_CALL set_kernel_arg(cl_kernel handle, cl_uint index, size_t size, const void* value);

}  // namespace cleave::vendor
