// All functions of OpenCL, as the client carries them out: declared from the one list, so that one that is
// forgotten is found by the linker. Each is defined in the file of its topic; those that cannot be carried
// are in absent.cpp.
#pragma once

#include <bit>

#include "base/opencl.h"
#include "objects/object.h"
#include "opencl/function_traits.h"

static_assert(std::endian::native == std::endian::little, "the protocol's answers are used as they come");

namespace cleave::remote::client {

#define CL_FUNCTION(version, name, ...) opencl::Declared<&Table::name> name;
#include "opencl/functions.def"
#undef CL_FUNCTION

// Of cl_khr_icd.
cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id platform, void* data);

// clGetKernelSuggestedLocalWorkSizeKHR.
cl_int CL_API_CALL get_suggested_local_size(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                            const size_t* offset, const size_t* global, size_t* suggested);

// What CL_..._REFERENCE_COUNT is: the program's own references.
inline cl_uint references(const objects::Object& object) {
  return object.root
             ? 1
             : static_cast<cl_uint>(objects::references_of(object.counts.load(std::memory_order_relaxed)));
}

}  // namespace cleave::remote::client
