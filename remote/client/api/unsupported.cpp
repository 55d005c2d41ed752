// The functions that cannot be carried to another machine, and what they answer: what a driver answers that
// does not have what they are about. Nothing that leads to them is offered.
#include "remote/client/api/api.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {

// A function of this process cannot run on the server's device; CL_DEVICE_EXECUTION_CAPABILITIES says so.
cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK*)(void*), void*, size_t,
                                         cl_uint, const cl_mem*, const void**, cl_uint, const cl_event*,
                                         cl_event*) {
  return find(queue) == nullptr ? CL_INVALID_COMMAND_QUEUE : CL_INVALID_OPERATION;
}

// What another API of this machine owns: cl_khr_gl_sharing, cl_khr_gl_event, cl_khr_egl_image,
// cl_khr_egl_event.
cl_mem CL_API_CALL clCreateFromGLBuffer(cl_context, cl_mem_flags, cl_GLuint, cl_int* error_ret) {
  return fail<cl_mem>(error_ret, CL_INVALID_OPERATION);
}
cl_mem CL_API_CALL clCreateFromGLTexture(cl_context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint,
                                         cl_int* error_ret) {
  return fail<cl_mem>(error_ret, CL_INVALID_OPERATION);
}
cl_mem CL_API_CALL clCreateFromGLTexture2D(cl_context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint,
                                           cl_int* error_ret) {
  return fail<cl_mem>(error_ret, CL_INVALID_OPERATION);
}
cl_mem CL_API_CALL clCreateFromGLTexture3D(cl_context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint,
                                           cl_int* error_ret) {
  return fail<cl_mem>(error_ret, CL_INVALID_OPERATION);
}
cl_mem CL_API_CALL clCreateFromGLRenderbuffer(cl_context, cl_mem_flags, cl_GLuint, cl_int* error_ret) {
  return fail<cl_mem>(error_ret, CL_INVALID_OPERATION);
}
cl_int CL_API_CALL clGetGLObjectInfo(cl_mem, cl_gl_object_type*, cl_GLuint*) { return CL_INVALID_GL_OBJECT; }
cl_int CL_API_CALL clGetGLTextureInfo(cl_mem, cl_gl_texture_info, size_t, void*, size_t*) {
  return CL_INVALID_GL_OBJECT;
}
cl_int CL_API_CALL clEnqueueAcquireGLObjects(cl_command_queue, cl_uint, const cl_mem*, cl_uint,
                                             const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}
cl_int CL_API_CALL clEnqueueReleaseGLObjects(cl_command_queue, cl_uint, const cl_mem*, cl_uint,
                                             const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}
cl_int CL_API_CALL clGetGLContextInfoKHR(const cl_context_properties*, cl_gl_context_info, size_t, void*,
                                         size_t*) {
  return CL_INVALID_OPERATION;
}
cl_event CL_API_CALL clCreateEventFromGLsyncKHR(cl_context, cl_GLsync, cl_int* error_ret) {
  return fail<cl_event>(error_ret, CL_INVALID_OPERATION);
}
cl_mem CL_API_CALL clCreateFromEGLImageKHR(cl_context, CLeglDisplayKHR, CLeglImageKHR, cl_mem_flags,
                                           const cl_egl_image_properties_khr*, cl_int* error_ret) {
  return fail<cl_mem>(error_ret, CL_INVALID_OPERATION);
}
cl_int CL_API_CALL clEnqueueAcquireEGLObjectsKHR(cl_command_queue, cl_uint, const cl_mem*, cl_uint,
                                                 const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}
cl_int CL_API_CALL clEnqueueReleaseEGLObjectsKHR(cl_command_queue, cl_uint, const cl_mem*, cl_uint,
                                                 const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}
cl_event CL_API_CALL clCreateEventFromEGLSyncKHR(cl_context, CLeglSyncKHR, CLeglDisplayKHR,
                                                 cl_int* error_ret) {
  return fail<cl_event>(error_ret, CL_INVALID_OPERATION);
}

// cl_ext_device_fission, which OpenCL 1.2 has replaced.
cl_int CL_API_CALL clCreateSubDevicesEXT(cl_device_id, const cl_device_partition_property_ext*, cl_uint,
                                         cl_device_id*, cl_uint*) {
  return CL_INVALID_OPERATION;
}

}  // namespace cleave::remote::client
