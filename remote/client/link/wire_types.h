// OpenCL's small types as the protocol's.
#pragma once

#include "base/opencl.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

// What the server says that a driver has said: OpenCL's codes are never positive.
inline cl_int driver_error(std::int32_t told) { return told > CL_SUCCESS ? CL_OUT_OF_RESOURCES : told; }

// Of three numbers, or of the first `dims` of them, the others 1.
inline wire::Size3 size3(const size_t* sizes, cl_uint dims = 3) {
  return {sizes[0], dims > 1 ? sizes[1] : 1, dims > 2 ? sizes[2] : 1};
}

}  // namespace cleave::remote::client
