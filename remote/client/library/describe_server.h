// A description of a server for users: lines of fields that are separated by tabs.
//
//   server    NAME
//   answered  NANOSECONDS              time from Hello to Welcome
//   clients   N MOST                   if the server reports it
//   device    NAME VERSION UNITS BYTES one line for each
//
// or one line: problem TEXT.
#pragma once

#include "base/opencl.h"

namespace cleave::remote::client {

// Connects, queries and disconnects; does not count as a client. CL_INVALID_VALUE if the text does not fit.
// Thread-safe.
cl_int CL_API_CALL describe_server(const char* address, size_t size, char* text);

}  // namespace cleave::remote::client
