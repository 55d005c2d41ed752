// The extensions that the client supports: those without functions of their own, and those whose functions it has.
//
// Thread-safe: pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/opencl.h"

namespace cleave::remote::client {

bool is_supported_extension(std::string_view extension);

// Those names of a list, which spaces separate, for which keep(name) is true.
std::string kept_names(std::string_view list, const std::function<bool(std::string_view name)>& keep);
// The supported ones of such a list.
std::string only_supported(std::string_view extensions);
void keep_supported(std::vector<cl_name_version>& extensions);

}  // namespace cleave::remote::client
