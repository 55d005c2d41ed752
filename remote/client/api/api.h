// Declarations of all functions of OpenCL, from the one list of them: a function that is not defined does not link. Each is
// defined in the file of its topic; what cannot be forwarded to a server is in unsupported.cpp.
//
// Thread-safe as OpenCL demands of each function.
#pragma once

#include "base/opencl.h"
#include "objects/object.h"
#include "opencl/function_traits.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {

#define CL_FUNCTION(version, name, ...) opencl::Declared<&Table::name> name;
#include "opencl/functions.def"
#undef CL_FUNCTION

// Of cl_khr_icd.
cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id platform, void* data);

// clGetKernelSuggestedLocalWorkSizeKHR.
cl_int CL_API_CALL get_suggested_local_size(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                            const size_t* offset, const size_t* global, size_t* suggested);

// The program's own references, as CL_..._REFERENCE_COUNT reports them. Requires: a valid handle.
template <typename Handle>
cl_uint references(Handle handle) {
  const Object& object = object_of(handle);
  if (object.root) return 1;
  return static_cast<cl_uint>(objects::references_of(object.counts.load(std::memory_order_relaxed)));
}

}  // namespace cleave::remote::client
