// The function of the table below that an override calls: the entry of the dispatch table, or for an extension the
// driver's own, which is looked up at each call.
#pragma once

#include <type_traits>

#include "interpose/drivers/device_queries.h"
#include "opencl/extension_functions.h"
#include "opencl/function_traits.h"
#include "opencl/missing_functions.h"

namespace cleave::interpose {

// For a function whose first parameter is `queue`. Where there is none for this queue, the result answers
// CL_INVALID_COMMAND_QUEUE.
template <auto Entry>
opencl::FunctionAt<Entry> next_function(const Table& next, [[maybe_unused]] cl_command_queue queue) noexcept {
  using Function = opencl::FunctionAt<Entry>;
  if constexpr (std::is_same_v<typename opencl::EntryTraits<Entry>::Table, Table>) {
    return next.*Entry;
  } else {
    cl_device_id device = nullptr;
    void* const found =
        next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr) == CL_SUCCESS
            ? find_extension_function(next, device, opencl::kNameOf<Entry>.data())
            : nullptr;
    return found != nullptr ? reinterpret_cast<Function>(found)
                            : opencl::MissingFunction<Function, CL_INVALID_COMMAND_QUEUE>::call;
  }
}

}  // namespace cleave::interpose
