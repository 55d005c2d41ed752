// Callbacks that pass a handle. The record of one is an object of the kind `callback` (objects/kind.h), which holds a
// reference to the object whose handle the program will be given. Its memory stays readable forever, so a driver that
// calls back twice, or after it has reported an error, does no harm.
#pragma once

#include "icd/vendor/translate.h"

namespace cleave::vendor {

// A record of the program's callback about `object`; null if there is no memory.
Object* make_callback_record(Object& object, void* function, void* user_data);

// For a driver's call: true the first time, and then finish_callback() has to follow.
bool claim_callback(Object& callback);
void finish_callback(Object& callback);

// The driver will not call back.
void cancel_callback(Object& callback);

inline Object& object_of(const Object& callback) { return *callback.parents[0]; }
inline void* user_data_of(const Object& callback) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what make_callback_record() has put there
  return reinterpret_cast<void*>(callback.extra.load(std::memory_order_relaxed));
}
template <typename Function>
Function function_of(const Object& callback) {
  return reinterpret_cast<Function>(objects::raw_of(callback));
}

// What drivers call in place of the program's function(handle, user data).
template <OpenClHandle Handle>
void CL_CALLBACK notify(Handle, void* data) {
  auto& callback = *static_cast<Object*>(data);
  if (!claim_callback(callback)) return;
  using Function = void(CL_CALLBACK*)(Handle, void*);
  function_of<Function>(callback)(objects::handle_of<Handle>(&object_of(callback)), user_data_of(callback));
  finish_callback(callback);
}

// For functions that register a callback for an object's destruction.
template <auto Entry, typename Function = FunctionAt<Entry>>
struct DestructorCallback;
template <auto Entry, typename Handle>
struct DestructorCallback<Entry, cl_int(CL_API_CALL*)(Handle, void(CL_CALLBACK*)(Handle, void*), void*)> {
  static cl_int CL_API_CALL call(Handle handle, void(CL_CALLBACK* function)(Handle, void*), void* user_data) {
    Object* const object = vendor.objects.find(handle);
    if (object == nullptr) return KindOf<Handle>::invalid;
    const auto raw = static_cast<Handle>(objects::raw_of(*object));
    if (function == nullptr) return next_function<Entry>(*object)(raw, nullptr, user_data);
    Object* const callback = make_callback_record(*object, reinterpret_cast<void*>(function), user_data);
    if (callback == nullptr) return CL_OUT_OF_HOST_MEMORY;
    const cl_int error = next_function<Entry>(*object)(raw, notify<Handle>, callback);
    if (error != CL_SUCCESS) cancel_callback(*callback);
    return error;
  }
};

using EventNotify = void(CL_CALLBACK*)(cl_event, cl_int, void*);
using ProgramNotify = void(CL_CALLBACK*)(cl_program, void*);
using FreeNotify = void(CL_CALLBACK*)(cl_command_queue, cl_uint, void**, void*);

}  // namespace cleave::vendor
