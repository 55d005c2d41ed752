// The program's references. Each is passed on to the driver as well, so a query for the count gets the driver's own;
// our count decides whether the handle is valid (objects/object.h).
#pragma once

#include "icd/vendor/translate.h"

namespace cleave::vendor {

template <auto Entry>
struct Retain;
template <typename Handle, cl_int (CL_API_CALL* Table::*Entry)(Handle)>
struct Retain<Entry> {
  static cl_int CL_API_CALL call(Handle handle) {
    Object* const object = vendor.objects.find(handle);
    if (object == nullptr) return KindOf<Handle>::invalid;
    const cl_int error = (vendor.next->*Entry)(static_cast<Handle>(objects::raw_of(*object)));
    if (error == CL_SUCCESS) vendor.objects.retain(*object);
    return error;
  }
};

// Our reference goes first: once the driver has destroyed the object, it may use the address for another one.
template <auto Entry>
struct Release;
template <typename Handle, cl_int (CL_API_CALL* Table::*Entry)(Handle)>
struct Release<Entry> {
  static cl_int CL_API_CALL call(Handle handle) {
    using Left = objects::Objects::Remaining;
    Object* const object = vendor.objects.find(handle);
    if (object == nullptr) return KindOf<Handle>::invalid;
    const auto raw = static_cast<Handle>(objects::raw_of(*object));
    const Left left = vendor.objects.release(*object);
    if (left == Left::invalid) return KindOf<Handle>::invalid;
    const cl_int error = (vendor.next->*Entry)(raw);
    if (left == Left::none) vendor.objects.reap(*object);
    return error;
  }
};

}  // namespace cleave::vendor
