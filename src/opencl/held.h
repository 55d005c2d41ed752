// References to OpenCL's objects.
//
// Thread-safe as shared pointers are. May throw std::bad_alloc.
#pragma once

#include <memory>
#include <type_traits>

#include "base/opencl.h"

namespace cleave::opencl {

template <typename Handle>
using Held = std::shared_ptr<std::remove_pointer_t<Handle>>;

// Retains the object, which is released with the last copy: hold(cl.clRetainContext, cl.clReleaseContext, context).
template <typename Handle>
Held<Handle> hold(cl_int(CL_API_CALL* retain)(Handle), cl_int(CL_API_CALL* release)(Handle),
                  std::type_identity_t<Handle> handle) {
  retain(handle);
  return {handle, release};
}

}  // namespace cleave::opencl
