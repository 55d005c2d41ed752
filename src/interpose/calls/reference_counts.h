// Retain and release of objects that have records: the same for all kinds.
#pragma once

#include <type_traits>
#include <utility>

#include "interpose/interposer.h"

namespace cleave::interpose {

template <auto Entry>
using FunctionOf = std::remove_reference_t<decltype(std::declval<Table>().*Entry)>;

// Stands for `Entry`, clRetain... of a kind of object whose records are in `Records`.
template <auto Entry, auto Records, typename Function = FunctionOf<Entry>>
struct Retain;

template <auto Entry, auto Records, typename Handle>
struct Retain<Entry, Records, cl_int(CL_API_CALL*)(Handle)> {
  static cl_int CL_API_CALL call(Handle handle) noexcept {
    Interposer& p = interposer();
    const cl_int error = (p.next.*Entry)(handle);
    if (error == CL_SUCCESS) (p.*Records).retain(handle);
    return error;
  }
};

// Stands for `Entry`, clRelease... of such a kind. The record goes before the driver may use the address
// again.
template <auto Entry, auto Records, typename Function = FunctionOf<Entry>>
struct Release;

template <auto Entry, auto Records, typename Handle>
struct Release<Entry, Records, cl_int(CL_API_CALL*)(Handle)> {
  static cl_int CL_API_CALL call(Handle handle) noexcept {
    Interposer& p = interposer();
    (p.*Records).release(handle);
    return (p.next.*Entry)(handle);
  }
};

}  // namespace cleave::interpose
