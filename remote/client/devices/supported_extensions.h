// The extensions that the client supports: those without functions of their own, and those whose functions it has.
//
// Thread-safe: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/opencl.h"

namespace cleave::remote::client {

bool is_supported_extension(std::string_view extension);

// The supported ones of a list that is separated by spaces.
std::string only_supported(std::string_view extensions);
void keep_supported(std::vector<cl_name_version>& extensions);

}  // namespace cleave::remote::client
