// One pointer for each function of extension_functions.def, null where a driver does not have it.
#pragma once

#include <string_view>
#include <type_traits>

#include "base/opencl.h"

namespace cleave::opencl {

struct ExtensionFunctions {
#define CL_EXTENSION(extension, name, interposer, handles, remote, ...) \
  std::add_pointer_t<__VA_ARGS__> name = nullptr;
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
};

// The name of the function at an entry.
template <auto Entry>
inline constexpr std::string_view kNameOf = {};
#define CL_EXTENSION(extension, name, ...) \
  template <>                              \
  inline constexpr std::string_view kNameOf<&ExtensionFunctions::name> = #name;
#include "opencl/extension_functions.def"
#undef CL_EXTENSION

}  // namespace cleave::opencl
