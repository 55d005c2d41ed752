// The OpenCL below the server: the system's loader with Cleave's splitter on top of it.
#pragma once

#include <string>

#include "base/opencl.h"

namespace cleave::remote::server {

// Null: `problem` says why. Once in a process; the table lives for ever.
const Table* load_opencl(const std::string& library, std::string& problem);

}  // namespace cleave::remote::server
