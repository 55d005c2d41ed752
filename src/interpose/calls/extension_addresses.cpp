// The doors through which programs ask for functions by name. A function that Cleave overrides is Cleave's
// here too; everything else is what the driver says.

#include <string_view>

#include "cleave/cleave.h"
#include "interpose/calls/overrides.h"
#include "interpose/calls/table.h"
#include "interpose/interposer.h"

namespace cleave::interpose {
namespace {

// What to hand out for `name` where the driver below has `theirs`. Nothing is offered that the driver does
// not have, but for Cleave's own question. If another face of Cleave is below, that one answers for both.
void* ours(std::string_view name, void* theirs) {
  if (name == CL_CLEAVE_GET_INFO_NAME) {
    return theirs != nullptr ? theirs : reinterpret_cast<void*>(get_cleave_info);
  }
  if (theirs == nullptr || interposer().settings().disable) return theirs;
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
