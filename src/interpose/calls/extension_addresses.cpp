// Functions by name: overridden ones are ours here too, all others are the driver's.

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cleave/cleave.h"
#include "interpose/calls/overrides.h"
#include "interpose/calls/table.h"
#include "interpose/interposer.h"

namespace cleave::interpose {
namespace {

constexpr std::string_view kKnown[] = {
#define CL_FUNCTION(version, name, ...) #name,
#include "opencl/functions.def"
#undef CL_FUNCTION
#define CL_EXTENSION(extension, name, ...) #name,
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
};

// Whether a function may enqueue commands, change kernels, or register functions of the program, without our knowledge.
bool may_bypass_gates(std::string_view name) {
  if (name.starts_with("clGet") || name.starts_with("clIcd")) return false;
  if (name.find("Destructor") != std::string_view::npos) return true;
  return std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown);
}

// The function to return for `name`; `theirs` is the driver's. Nothing is offered that the driver lacks, except
// clGetCleaveInfo; if another face of Cleave is below, that one answers it.
void* ours(std::string_view name, void* theirs) {
  if (name == CL_CLEAVE_GET_INFO_NAME) {
    return theirs != nullptr ? theirs : reinterpret_cast<void*>(get_cleave_info);
  }
  if (theirs == nullptr || interposer().settings().disable) return theirs;
  if (may_bypass_gates(name)) interposer().feeder.stop();
  void* const override = find_override(name);
  return override != nullptr ? override : theirs;
}

}  // namespace

void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) noexcept {
  void* const theirs = interposer().next.clGetExtensionFunctionAddress(name);
  return name == nullptr ? theirs : ours(name, theirs);
}

void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                           const char* name) noexcept {
  void* const theirs = interposer().next.clGetExtensionFunctionAddressForPlatform(platform, name);
  return name == nullptr ? theirs : ours(name, theirs);
}

}  // namespace cleave::interpose
