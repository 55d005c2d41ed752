#include "icd/vendor/callbacks.h"

#include <sched.h>

namespace cleave::vendor {
namespace {

using objects::Kind;

// A callback record's `counts` is its ticket: odd until the callback has been called or cancelled. The next callback in
// the same slot has another one, unless an object of another kind used the slot in between.
bool claim(Object& callback, std::uint64_t ticket) {
  return ticket % 2 == 1 &&
         callback.counts.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel);
}

void retire(Object& callback) {
  callback.tag.store(objects::kGone, std::memory_order_release);
  vendor.objects.reap(callback);
}

std::uint64_t ticket_of(const Object* callback) {
  return callback == nullptr ? 0 : callback->counts.load(std::memory_order_relaxed);
}

// Calls ask(function, user data) with `stand_in` and a record instead of the program's callback, if there is one.
template <typename Handle, typename Function, typename Ask>
cl_int with_callback(Handle handle, Function function, void* user_data, Function stand_in, Ask ask) {
  if (function == nullptr) return ask(function, user_data);
  Object* const object = vendor.objects.find(handle);
  if (object == nullptr) return KindOf<Handle>::invalid;
  Object* const callback = make_callback_record(*object, reinterpret_cast<void*>(function), user_data);
  if (callback == nullptr) return CL_OUT_OF_HOST_MEMORY;
  const std::uint64_t ticket = ticket_of(callback);
  const cl_int error = ask(stand_in, callback);
  // After a failed build, drivers either have called back before they return, or never do.
  if (error != CL_SUCCESS && claim(*callback, ticket)) retire(*callback);
  return error;
}

void CL_CALLBACK notify_of_event(cl_event, cl_int status, void* data) {
  auto& callback = *static_cast<Object*>(data);
  if (!claim_callback(callback)) return;
  function_of<EventNotify>(callback)(objects::handle_of<cl_event>(&object_of(callback)), status,
                                     user_data_of(callback));
  finish_callback(callback);
}

void CL_CALLBACK notify_of_free(cl_command_queue, cl_uint count, void** pointers, void* data) {
  auto& callback = *static_cast<Object*>(data);
  if (!claim_callback(callback)) return;
  function_of<FreeNotify>(callback)(objects::handle_of<cl_command_queue>(&object_of(callback)), count,
                                    pointers, user_data_of(callback));
  finish_callback(callback);
}

// --- Linking. The new program's handle is known as soon as either the call returns or the driver calls back, on
// any thread; the first of the two publishes it. `extra` of the new object records whether that is done.

constexpr std::uintptr_t kPublished = 1;

void publish_once(Object& made, cl_program raw, std::uint64_t counts) {
  void* expected = nullptr;
  if (made.raw.compare_exchange_strong(expected, raw, std::memory_order_acq_rel)) {
    vendor.objects.publish(made, raw, counts);
    made.extra.store(kPublished, std::memory_order_release);
  }
  while (made.extra.load(std::memory_order_acquire) != kPublished) sched_yield();
}

constexpr std::uint64_t kLinked =
    objects::kReference + objects::kHolder;  // the program's, and the callback's

void CL_CALLBACK notify_of_link(cl_program raw, void* data) {
  auto& callback = *static_cast<Object*>(data);
  if (!claim_callback(callback)) return;
  Object& made = *callback.parents[1];
  publish_once(made, raw, kLinked);
  function_of<ProgramNotify>(callback)(objects::handle_of<cl_program>(&made), user_data_of(callback));
  finish_callback(callback);
}

}  // namespace

Object* make_callback_record(Object& object, void* function, void* user_data) {
  Object* const callback = vendor.objects.prepare(Kind::callback, object);
  if (callback == nullptr) return nullptr;
  callback->raw.store(function, std::memory_order_relaxed);
  callback->extra.store(reinterpret_cast<std::uintptr_t>(user_data), std::memory_order_relaxed);
  callback->counts.store((callback->counts.load(std::memory_order_relaxed) | 1U) + 2,
                         std::memory_order_relaxed);
  callback->tag.store(objects::live(Kind::callback), std::memory_order_release);
  return callback;
}

bool claim_callback(Object& callback) {
  return callback.tag.load(std::memory_order_acquire) == objects::live(Kind::callback) &&
         claim(callback, ticket_of(&callback));
}

void finish_callback(Object& callback) { retire(callback); }

void cancel_callback(Object& callback) {
  if (claim_callback(callback)) retire(callback);
}

cl_int CL_API_CALL clSetEventCallback(cl_event handle, cl_int type, EventNotify function, void* user_data) {
  return with_callback(handle, function, user_data, notify_of_event, [&](EventNotify stand_in, void* data) {
    return TranslatedCall<&Table::clSetEventCallback>::call(handle, type, stand_in, data);
  });
}

cl_int CL_API_CALL clBuildProgram(cl_program handle, cl_uint count, const cl_device_id* devices,
                                  const char* options, ProgramNotify function, void* user_data) {
  return with_callback(
      handle, function, user_data, notify<cl_program>, [&](ProgramNotify stand_in, void* data) {
        return TranslatedCall<&Table::clBuildProgram>::call(handle, count, devices, options, stand_in, data);
      });
}

cl_int CL_API_CALL clCompileProgram(cl_program handle, cl_uint count, const cl_device_id* devices,
                                    const char* options, cl_uint headers, const cl_program* header_list,
                                    const char** header_names, ProgramNotify function, void* user_data) {
  return with_callback(
      handle, function, user_data, notify<cl_program>, [&](ProgramNotify stand_in, void* data) {
        return TranslatedCall<&Table::clCompileProgram>::call(handle, count, devices, options, headers,
                                                              header_list, header_names, stand_in, data);
      });
}

cl_int CL_API_CALL clEnqueueSVMFree(cl_command_queue handle, cl_uint count, void** pointers,
                                    FreeNotify function, void* user_data, cl_uint waits,
                                    const cl_event* wait_list, cl_event* event) {
  return with_callback(handle, function, user_data, notify_of_free, [&](FreeNotify stand_in, void* data) {
    return TranslatedCall<&Table::clEnqueueSVMFree>::call(handle, count, pointers, stand_in, data, waits,
                                                          wait_list, event);
  });
}

cl_program CL_API_CALL clLinkProgram(cl_context handle, cl_uint count, const cl_device_id* devices,
                                     const char* options, cl_uint programs, const cl_program* program_list,
                                     ProgramNotify function, void* user_data, cl_int* error_ret) {
  if (function == nullptr) {
    return TranslatedCall<&Table::clLinkProgram>::call(handle, count, devices, options, programs,
                                                       program_list, function, user_data, error_ret);
  }
  HandleArgument<cl_context> context;
  HandleListArgument<cl_device_id, CL_INVALID_DEVICE> device_list;
  HandleListArgument<cl_program, CL_INVALID_PROGRAM> inputs;
  cl_int error = context.take(handle, 0);
  const cl_int device_error = device_list.take(devices, count);
  const cl_int input_error = inputs.take(program_list, programs);
  if (error == CL_SUCCESS) error = device_error != CL_SUCCESS ? device_error : input_error;
  Object* const made = error == CL_SUCCESS ? vendor.objects.prepare(Kind::program, *context.object) : nullptr;
  Object* const callback =
      made == nullptr ? nullptr
                      : make_callback_record(*context.object, reinterpret_cast<void*>(function), user_data);
  if (error == CL_SUCCESS && callback == nullptr) error = CL_OUT_OF_HOST_MEMORY;
  cl_program linked = nullptr;
  if (error == CL_SUCCESS) {
    const std::uint64_t ticket = ticket_of(callback);
    callback->parents[1] = made;
    linked = vendor.next->clLinkProgram(context.raw(), count, device_list.raw(), options, programs,
                                        inputs.raw(), notify_of_link, callback, &error);
    if (linked != nullptr) {
      publish_once(*made, linked, kLinked);
    } else if (claim(*callback, ticket)) {  // the driver will not call back
      callback->parents[1] = nullptr;
      retire(*callback);
      vendor.objects.discard(*made);
    }
  } else if (made != nullptr) {
    vendor.objects.discard(*made);
  }
  device_list.end();
  inputs.end();
  if (error_ret != nullptr) *error_ret = error;
  return linked != nullptr ? objects::handle_of<cl_program>(made) : nullptr;
}

}  // namespace cleave::vendor
