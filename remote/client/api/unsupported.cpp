// Functions that cannot be forwarded to another machine, with other answers than those whose row in opencl/functions.def says
// `not_carried`. No device offers the features that they are for.
#include "remote/client/api/api.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {

// A function of this process cannot run on the server's device; CL_DEVICE_EXECUTION_CAPABILITIES says so.
cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK*)(void*), void*, size_t,
                                         cl_uint, const cl_mem*, const void**, cl_uint, const cl_event*,
                                         cl_event*) {
  return find(queue) == nullptr ? CL_INVALID_COMMAND_QUEUE : CL_INVALID_OPERATION;
}

// What cl_khr_gl_sharing specifies for a memory object that no other API of this machine owns.
cl_int CL_API_CALL clGetGLObjectInfo(cl_mem, cl_gl_object_type*, cl_GLuint*) { return CL_INVALID_GL_OBJECT; }
cl_int CL_API_CALL clGetGLTextureInfo(cl_mem, cl_gl_texture_info, size_t, void*, size_t*) {
  return CL_INVALID_GL_OBJECT;
}

}  // namespace cleave::remote::client
