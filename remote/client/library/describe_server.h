// What a server says of itself, as lines of fields between tabs:
//   server NAME; answered NANOSECONDS (from Hello to Welcome); clients N MOST; device NAME VERSION UNITS
//   BYTES ...
// or: problem TEXT
#pragma once

#include "base/opencl.h"

namespace cleave::remote::client {

// Meets the server and goes again; not counted as a client. CL_INVALID_VALUE if the text does not fit.
cl_int CL_API_CALL describe_server(const char* address, size_t size, char* text);

}  // namespace cleave::remote::client
