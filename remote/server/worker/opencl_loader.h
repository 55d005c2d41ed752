// The OpenCL implementation that the server uses: the system's loader with Cleave's splitter on top.
#pragma once

#include <string>

#include "base/opencl.h"

namespace cleave::remote::server {

// Null: `problem` says why. To be called once; the table is never destroyed.
const Table* load_opencl(const std::string& library, std::string& problem);

}  // namespace cleave::remote::server
