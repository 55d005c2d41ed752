// What platforms and devices say of themselves in words: their names, and which extensions they have.
// Extensions whose functions we do not offer are taken out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/opencl.h"

namespace cleave::vendor {

// Whether nothing of the extension needs a function that is not offered (docs/vendor.md).
bool is_offered(std::string_view extension);

// The names among `extensions`, which are separated by spaces, that are offered.
std::string offered_extensions(std::string_view extensions);
void remove_unoffered(std::vector<cl_name_version>& extensions);

}  // namespace cleave::vendor
