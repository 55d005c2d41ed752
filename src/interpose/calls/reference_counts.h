// Retain and release of objects that have records: the same for all kinds.
#pragma once

#include <type_traits>

#include "interpose/interposer.h"
#include "opencl/function_traits.h"

namespace cleave::interpose {

using opencl::FunctionAt;

// The records of objects of a kind.
inline auto& records_of(ObjectRecords& records, cl_context) { return records.contexts; }
inline auto& records_of(ObjectRecords& records, cl_device_id) { return records.sub_devices; }
inline auto& records_of(ObjectRecords& records, cl_program) { return records.programs; }
inline auto& records_of(ObjectRecords& records, cl_kernel) { return records.kernels; }
inline auto& records_of(ObjectRecords& records, cl_command_queue) { return records.queues; }

// The override of `Entry`, the clRetain... function of such a kind.
template <auto Entry, typename Function = FunctionAt<Entry>>
struct Retain;

template <auto Entry, typename Handle>
struct Retain<Entry, cl_int(CL_API_CALL*)(Handle)> {
  static cl_int CL_API_CALL call(Handle handle) noexcept {
    Interposer& p = interposer();
    const cl_int error = (p.next.*Entry)(handle);
    if (error == CL_SUCCESS) records_of(p.records, handle).retain(handle);
    return error;
  }
};

// The override of `Entry`, the clRelease... function. The record is removed before the driver may reuse the address. The last
// reference is left to a call of our own that is under way (state/held_handles.h).
template <auto Entry, typename Function = FunctionAt<Entry>>
struct Release;

template <auto Entry, typename Handle>
struct Release<Entry, cl_int(CL_API_CALL*)(Handle)> {
  static cl_int CL_API_CALL call(Handle handle) noexcept {
    Interposer& p = interposer();
    if constexpr (std::is_same_v<Handle, cl_kernel>) {
      if (p.feeder.feeds(handle)) p.feeder.wait();
    }
    auto& records = records_of(p.records, handle);
    if (records.release(handle) && records.is_pinned(handle) && records.defer_release(handle))
      return CL_SUCCESS;
    return (p.next.*Entry)(handle);
  }
};

}  // namespace cleave::interpose
