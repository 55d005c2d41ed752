// The function of the table below that an override calls: the entry of the dispatch table, or for an extension the
// driver's own, which is looked up at each call.
#pragma once

#include <type_traits>

#include "interpose/drivers/device_queries.h"
#include "interpose/interposer.h"
#include "opencl/extension_functions.h"
#include "opencl/function_traits.h"
#include "opencl/missing_functions.h"

namespace cleave::interpose {

// What a call of a function that the driver lacks returns.
inline constexpr cl_int invalid(cl_command_queue) { return CL_INVALID_COMMAND_QUEUE; }
inline constexpr cl_int invalid(cl_context) { return CL_INVALID_CONTEXT; }
inline constexpr cl_int invalid(cl_kernel) { return CL_INVALID_KERNEL; }

inline void* find_next(Interposer& p, cl_kernel kernel, const char* name) noexcept {
  return find_extension_function(p.next, p.devices, p.records.contexts, kernel, name);
}
template <typename Object>
void* find_next(Interposer& p, Object object, const char* name) noexcept {
  return find_extension_function(p.next, p.devices, object, name);
}

// For a function whose first parameter is `object`: of an extension, a queue, a context or a kernel. Where there is none for this
// object, the result answers that it is invalid.
template <auto Entry, typename Object>
opencl::FunctionAt<Entry> next_function(Interposer& p, [[maybe_unused]] Object object) noexcept {
  using Function = opencl::FunctionAt<Entry>;
  if constexpr (std::is_same_v<typename opencl::EntryTraits<Entry>::Table, Table>) {
    return p.next.*Entry;
  } else {
    void* const found = find_next(p, object, opencl::kNameOf<Entry>.data());
    return found != nullptr ? reinterpret_cast<Function>(found)
                            : opencl::MissingFunction<Function, invalid(Object{})>::call;
  }
}

}  // namespace cleave::interpose
