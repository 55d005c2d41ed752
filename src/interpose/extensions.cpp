// The doors through which programs ask for functions by name. A function that Cleave overrides is Cleave's
// here too; everything else is what the driver says.

#include <string_view>

#include "cleave/cleave.h"
#include "interpose/overrides.h"
#include "interpose/process.h"
#include "interpose/table.h"

namespace cleave::interpose {
namespace {

// What to hand out for `name` where the driver below has `theirs`. Nothing is offered that the driver does
// not have, but for Cleave's own question. If another face of Cleave is below, that one answers for both.
void* ours(std::string_view name, void* theirs) {
  if (name == CL_CLEAVE_GET_INFO_NAME) {
    return theirs != nullptr ? theirs : reinterpret_cast<void*>(get_cleave_info);
  }
  if (theirs == nullptr || process().settings().disable) return theirs;
  void* const override = find_override(name);
  return override != nullptr ? override : theirs;
}

}  // namespace

void* CL_API_CALL get_extension_function_address(const char* name) noexcept {
  void* const theirs = process().next.clGetExtensionFunctionAddress(name);
  return name == nullptr ? theirs : ours(name, theirs);
}

void* CL_API_CALL get_extension_function_address_for_platform(cl_platform_id platform,
                                                              const char* name) noexcept {
  void* const theirs = process().next.clGetExtensionFunctionAddressForPlatform(platform, name);
  return name == nullptr ? theirs : ours(name, theirs);
}

}  // namespace cleave::interpose
