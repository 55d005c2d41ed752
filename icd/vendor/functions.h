// Declares vendor::<name> for every function of the lists. Those with `by_hand` in their row are defined, each in the file
// of its topic.
#pragma once

#include "icd/vendor/translate.h"
#include "opencl/function_traits.h"

namespace cleave::vendor {

using ContextNotify = void(CL_CALLBACK*)(const char*, const void*, size_t, void*);

#define CL_FUNCTION(version, name, ...) opencl::Declared<&Table::name> name;
#include "opencl/functions.def"
#undef CL_FUNCTION
#define CL_EXTENSION(extension, name, ...) opencl::Declared<&ExtensionFunctions::name> name;
#include "opencl/extension_functions.def"
#undef CL_EXTENSION

}  // namespace cleave::vendor
