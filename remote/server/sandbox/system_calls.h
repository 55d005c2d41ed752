// The system calls that a worker gives up before it reads anything from a client.
//
// Refused calls are listed, not allowed ones: drivers use what they like, and a new one must not fail in a new way. The
// list has calls that no OpenCL driver needs once it has been loaded, and with which a kernel that runs as native code
// could reach other processes or more of the kernel, or escape the processes that end it.
#pragma once

#include <string>
#include <vector>

namespace cleave::remote::server {

// For all threads of this process, and for all that it starts from now on; they get EPERM. Those with the names in `allowed` are
// not refused. Empty, or why there is no filter.
std::string refuse_system_calls(const std::vector<std::string>& allowed);

// Whether this library knows a system call of that name.
bool is_system_call(const std::string& name);

}  // namespace cleave::remote::server
