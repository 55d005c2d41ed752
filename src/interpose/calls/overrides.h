// The functions that Cleave overrides: interpose::<name> for every row of opencl/functions.def and
// opencl/extension_functions.def that says `overridden`, `cancellable`, `launches` or `waits` in the column `interposer`; each is
// defined in the file of its topic. It does what its namesake of OpenCL does, by way of interposer().next, and keeps the
// records on the way. None is reached before install().
//
// Our own code calls them with their namespace: without it the compiler finds OpenCL's function of that name as well.
//
// Parameters, results and errors are those of OpenCL 3.0. Thread-safe as far as OpenCL's own functions are.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "base/opencl.h"
#include "opencl/extension_functions.h"
#include "opencl/function_traits.h"

namespace cleave::interpose {

// The words of the column.
enum class Role : std::uint8_t {
  forwarded,
  gated,
  blocking,
  waits,
  retains,
  releases,
  withdraws,
  calls_back,
  overridden,
  cancellable,
  launches,
};

template <auto Entry>
inline constexpr Role kRole = Role::forwarded;
#define CL_FUNCTION(version, name, parameters, interposer, ...) \
  template <>                                                   \
  inline constexpr Role kRole<&Table::name> = Role::interposer;
#include "opencl/functions.def"
#undef CL_FUNCTION
#define CL_EXTENSION(extension, name, interposer, ...) \
  template <>                                          \
  inline constexpr Role kRole<&opencl::ExtensionFunctions::name> = Role::interposer;
#include "opencl/extension_functions.def"
#undef CL_EXTENSION

// None throws. Those that wait are not noexcept, so that they can end in a jump to the driver: a thread that is cancelled
// there is unwound as without Cleave.
template <auto Entry>
using Override =
    std::conditional_t<kRole<Entry> == Role::waits, opencl::Declared<Entry>, opencl::DeclaredNoexcept<Entry>>;
#define CL_FUNCTION(version, name, ...) Override<&Table::name> name;
#include "opencl/functions.def"
#undef CL_FUNCTION
#define CL_EXTENSION(extension, name, ...) Override<&opencl::ExtensionFunctions::name> name;
#include "opencl/extension_functions.def"
#undef CL_EXTENSION

// clGetCleaveInfo, see include/cleave/cleave.h.
cl_int CL_API_CALL get_cleave_info(cl_device_id, cl_uint name, size_t size, void* value,
                                   size_t* size_ret) noexcept;

// programs.cpp
// Rebuilds a program that was built with the prelude from the original source, for drivers that build it and then
// fail to create kernels. `kernel` is the one that failed, or null for all: a name that does not occur in the text
// is an error of the program. Returns whether the program is built now.
bool build_without_prelude(cl_program program, const char* kernel) noexcept;

// The driver's whole build log; empty if there is none. May throw std::bad_alloc.
std::string program_log(const Table& next, cl_program, cl_device_id);

}  // namespace cleave::interpose
