// The folder of --trace: a file for each client, of the server's user alone, however many others may write to the folder.
//
// Thread-safe: plain functions of their arguments. May throw std::bad_alloc.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/files/file_descriptor.h"

namespace cleave::remote::server {

// Why traces cannot be written there, for people; empty if they can.
std::string problem_of_trace_folder(const std::string& folder);

// A new and empty file PROCESS.json, open for writing. What had the name before is removed, never opened: it may be the trace
// of an earlier process, but also a link, a pipe, or a file that somebody else can read. Not open: errno says why.
base::FileDescriptor create_trace_file(const std::string& folder, pid_t process);

}  // namespace cleave::remote::server
