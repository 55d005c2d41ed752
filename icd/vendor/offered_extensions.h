// Which extensions the vendor library shows. Those with functions that it does not translate are hidden.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/opencl.h"

namespace cleave::vendor {

// Whether all functions of the extension, if it has any, are offered (docs/vendor.md).
bool is_offered(std::string_view extension);

// The names among `extensions`, which are separated by spaces, that are offered. Unchanged if all are.
std::string offered_extensions(std::string_view extensions);
void remove_unoffered(std::vector<cl_name_version>& extensions);

}  // namespace cleave::vendor
