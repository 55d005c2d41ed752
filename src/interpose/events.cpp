// Events: one that stands for a split launch must look like that of one command. It is the last slice's; what
// concerns the command's beginning is answered by the first slice's.
//
// Source: OpenCL 3.0 API, sections 5.11 "Event objects" and 5.14 "Profiling operations".

#include <algorithm>
#include <memory>
#include <new>

#include "interpose/overrides.h"
#include "interpose/process.h"

namespace cleave::interpose {
namespace {

// A callback for the beginning of a split launch, registered with the first slice's event. The program is
// handed its own event, of which a reference is held until then.
struct Beginning {
  void(CL_CALLBACK* notify)(cl_event, cl_int, void*);
  void* data;
  cl_event event;
};

void CL_CALLBACK on_beginning(cl_event, cl_int status, void* data) {
  const std::unique_ptr<Beginning> beginning(static_cast<Beginning*>(data));
  beginning->notify(beginning->event, status, beginning->data);
  process().next.clReleaseEvent(beginning->event);
}

cl_int set_callback_on_first(const Table& next, cl_event event, cl_event first, cl_int type,
                             void(CL_CALLBACK* notify)(cl_event, cl_int, void*), void* data) {
  auto beginning = std::unique_ptr<Beginning>(new (std::nothrow) Beginning{notify, data, event});
  if (!beginning) return CL_OUT_OF_HOST_MEMORY;
  if (const cl_int error = next.clRetainEvent(event); error != CL_SUCCESS) return error;
  const cl_int error = next.clSetEventCallback(first, type, on_beginning, beginning.get());
  if (error == CL_SUCCESS) {
    static_cast<void>(beginning.release());
  } else {
    next.clReleaseEvent(event);
  }
  return error;
}

}  // namespace

cl_event CL_API_CALL create_user_event(cl_context context, cl_int* error) noexcept {
  Process& p = process();
  cl_event event = p.next.clCreateUserEvent(context, error);
  if (event == nullptr) return event;
  try {
    p.pending.add(event, {});
  } catch (...) {  // out of memory: pacing has its own limit
  }
  return event;
}

cl_int CL_API_CALL set_user_event_status(cl_event event, cl_int status) noexcept {
  Process& p = process();
  const cl_int error = p.next.clSetUserEventStatus(event, status);
  if (error == CL_SUCCESS) p.pending.release(event);
  return error;
}

cl_int CL_API_CALL retain_event(cl_event event) noexcept {
  Process& p = process();
  const cl_int error = p.next.clRetainEvent(event);
  if (error == CL_SUCCESS) p.events.retain(event);
  return error;
}

cl_int CL_API_CALL release_event(cl_event event) noexcept {
  Process& p = process();
  if (const auto record = p.events.release(event)) p.next.clReleaseEvent(record->first);
  return p.next.clReleaseEvent(event);
}

cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t size, void* value,
                                  size_t* size_ret) noexcept {
  Process& p = process();
  const cl_int error = p.next.clGetEventInfo(event, name, size, value, size_ret);
  if (error != CL_SUCCESS || name != CL_EVENT_COMMAND_EXECUTION_STATUS || value == nullptr) return error;
  const auto record = p.events.find(event);
  if (!record) return error;
  // The whole command has got as far as its first slice, and has not ended before its last.
  auto* const status = static_cast<cl_int*>(value);
  cl_int first = CL_QUEUED;
  if (*status <= CL_RUNNING ||
      p.next.clGetEventInfo(record->first, name, sizeof first, &first, nullptr) != CL_SUCCESS) {
    return error;
  }
  *status = std::min(*status, std::max<cl_int>(first, CL_RUNNING));
  return error;
}

cl_int CL_API_CALL get_event_profiling_info(cl_event event, cl_profiling_info name, size_t size, void* value,
                                            size_t* size_ret) noexcept {
  Process& p = process();
  // Asked of the last slice first: what cannot be had of it cannot be had of the whole.
  const cl_int error = p.next.clGetEventProfilingInfo(event, name, size, value, size_ret);
  const bool beginning = name == CL_PROFILING_COMMAND_QUEUED || name == CL_PROFILING_COMMAND_SUBMIT ||
                         name == CL_PROFILING_COMMAND_START;
  if (error != CL_SUCCESS || !beginning) return error;
  const auto record = p.events.find(event);
  if (!record) return error;
  return p.next.clGetEventProfilingInfo(record->first, name, size, value, size_ret);
}

cl_int CL_API_CALL set_event_callback(cl_event event, cl_int type,
                                      void(CL_CALLBACK* notify)(cl_event, cl_int, void*),
                                      void* data) noexcept {
  Process& p = process();
  const bool beginning = type == CL_SUBMITTED || type == CL_RUNNING;
  if (beginning && notify != nullptr) {
    if (const auto record = p.events.find(event)) {
      return set_callback_on_first(p.next, event, record->first, type, notify, data);
    }
  }
  return p.next.clSetEventCallback(event, type, notify, data);
}

}  // namespace cleave::interpose
