// What cannot be had over several servers: memory at the same addresses on all of them, and pipes. The
// answers are those of a context none of whose devices has them.
#include "remote/client/multi_server/api.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client::multi_server {

cl_mem CL_API_CALL clCreatePipe(cl_context, cl_mem_flags, cl_uint, cl_uint, const cl_pipe_properties*,
                                cl_int* error_ret) {
  return fail<cl_mem>(error_ret, CL_INVALID_OPERATION);
}

void* CL_API_CALL clSVMAlloc(cl_context, cl_svm_mem_flags, size_t, cl_uint) { return nullptr; }
void CL_API_CALL clSVMFree(cl_context, void*) {}
cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel, cl_uint, const void*) { return CL_INVALID_OPERATION; }

cl_int CL_API_CALL clEnqueueSVMFree(cl_command_queue, cl_uint, void*[],
                                    void(CL_CALLBACK*)(cl_command_queue, cl_uint, void*[], void*), void*,
                                    cl_uint, const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}
cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue, cl_bool, void*, const void*, size_t, cl_uint,
                                      const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}
cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue, void*, const void*, size_t, size_t, cl_uint,
                                       const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}
cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue, cl_bool, cl_map_flags, void*, size_t, cl_uint,
                                   const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}
cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue, void*, cl_uint, const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}
cl_int CL_API_CALL clEnqueueSVMMigrateMem(cl_command_queue, cl_uint, const void**, const size_t*,
                                          cl_mem_migration_flags, cl_uint, const cl_event*, cl_event*) {
  return CL_INVALID_OPERATION;
}

}  // namespace cleave::remote::client::multi_server
