// One pointer for each function of extensions.def, null where a driver does not have it.
#pragma once

#include <type_traits>

#include "base/opencl.h"

namespace cleave::vendor {

struct ExtensionFunctions {
#define EXTENSION_FUNCTION(result, name, parameters) std::add_pointer_t<result parameters> name = nullptr;
#include "opencl/extension_functions.def"
#undef EXTENSION_FUNCTION
};

}  // namespace cleave::vendor
