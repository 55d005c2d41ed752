#include "icd/preload/calling_object.h"

#include <cstdint>
#include <dlfcn.h>
#include <unwind.h>

namespace cleave::icd {
namespace {

const void* start_of_object(const void* address) {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

struct Walk {
  const void* ours;
  const void* found = nullptr;
};

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* data) {
  auto* const walk = static_cast<Walk*>(data);
  // A return address may be behind the last instruction of a function that does not return.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses come from the unwinder
  const auto* const address = reinterpret_cast<const void*>(std::uintptr_t{_Unwind_GetIP(context)} - 1);
  const void* const object = start_of_object(address);
  if (object == walk->ours) return _URC_NO_REASON;
  walk->found = object != nullptr ? address : nullptr;
  return _URC_END_OF_STACK;
}

}  // namespace

const void* calling_address() noexcept {
  Walk walk{start_of_object(reinterpret_cast<const void*>(&calling_address))};
  _Unwind_Backtrace(visit_frame, &walk);
  return walk.found;
}

}  // namespace cleave::icd
