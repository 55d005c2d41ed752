// Only compiled, never run: every line of src/opencl/functions.def has the type of the function that the system's
// headers declare, and fills its entry of the loader's table.

#include <CL/cl.h>
#include <CL/cl_egl.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>

#include <type_traits>

namespace listed {
#define CL_FUNCTION(version, result, name, parameters, arguments) result CL_API_CALL name parameters;
#include "opencl/functions.def"
#undef CL_FUNCTION
}  // namespace listed

#define CL_FUNCTION(version, result, name, parameters, arguments)                   \
  static_assert(std::is_same_v<decltype(&::name), decltype(&listed::name)>,         \
                #name " is listed with other types than the headers declare");      \
  static_assert(std::is_same_v<decltype(&::name), decltype(cl_icd_dispatch::name)>, \
                #name " does not fit its entry of the loader's table");
#include "opencl/functions.def"
#undef CL_FUNCTION
