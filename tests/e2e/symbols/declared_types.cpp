// Only compiled, never run: every function of opencl/functions.def that the system's headers declare fits its entry of
// the loader's table, and has as many parameters as its row says.

#include <type_traits>

#include "opencl/function_traits.h"

#define CL_FUNCTION(version, name, parameters, ...)                                                  \
  static_assert(std::is_same_v<decltype(&::name), cleave::opencl::FunctionAt<&cleave::Table::name>>, \
                #name " does not fit its entry of the loader's table");                              \
  static_assert(cleave::opencl::FunctionTraits<decltype(&::name)>::kParameters == (parameters),      \
                #name " has another number of parameters");
#include "opencl/functions.def"
#undef CL_FUNCTION
