// Conversions between OpenCL's types and the protocol's.
//
// Thread-safe: pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/opencl.h"
#include "base/text/display_text.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

// A driver's error code as a server reports it. OpenCL's codes are never positive.
inline cl_int driver_error(std::int32_t reported) {
  return reported > CL_SUCCESS ? CL_OUT_OF_RESOURCES : reported;
}

// Of three numbers, or of the first `dims`, the others being 1.
inline wire::Size3 size3(const size_t* sizes, cl_uint dims = 3) {
  return {sizes[0], dims > 1 ? sizes[1] : 1, dims > 2 ? sizes[2] : 1};
}

// A region of a memory object.
struct WireRegion {
  WireRegion(const size_t* the_origin, const size_t* the_extent)
      : origin(size3(the_origin)), extent(size3(the_extent)) {}
  wire::Size3 origin;
  wire::Size3 extent;
};

// A server's text for a line of our own: what of it may be displayed, and not too long.
inline std::string printable(std::string_view text) {
  constexpr std::size_t kMaxLength = 200;
  return base::displayable(text.substr(0, kMaxLength));
}

}  // namespace cleave::remote::client
