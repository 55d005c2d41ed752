// Events. The event of a split launch behaves like that of one command: it is the last slice's, but queries about the
// beginning are answered from the slice that began first.
//
// Source: OpenCL 3.0 API, sections 5.11 "Event objects" and 5.14 "Profiling operations".

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "interpose/calls/overrides.h"
#include "interpose/interposer.h"
#include "interpose/state/callback_scope.h"
#include "interpose/state/split_event.h"

namespace cleave::interpose {
namespace {

using EventNotify = void(CL_CALLBACK*)(cl_event, cl_int, void*);

// The program's callback. For a split launch it keeps a reference to the program's event, in the driver and in the
// record, until it has been called, so that queries within it answer for the whole launch.
struct Callback {
  EventNotify notify;
  void* data;
  cl_event event = nullptr;  // of a split launch
};

// The error that the program would read.
cl_int error_of(cl_event event, cl_int otherwise) {
  cl_int status = CL_QUEUED;
  const bool known = interpose::clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                               &status, nullptr) == CL_SUCCESS;
  return known && status < 0 ? status : otherwise;
}

void CL_CALLBACK call_back(cl_event event, cl_int status, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  const CallbackScope scope;
  if (callback->event == nullptr) return callback->notify(event, status, callback->data);
  callback->notify(callback->event, status < 0 ? error_of(callback->event, status) : status, callback->data);
  interpose::clReleaseEvent(callback->event);
}

// Whether callbacks must be tracked: within one, no wait sleeps, no queue is created and no launch is paced.
bool must_track_callbacks(const base::Settings& settings) {
  return settings.wait != base::WaitMode::native || settings.launch != base::LaunchMode::queued;
}

// Registers the callback for `at`: the event itself or, for a split launch, perhaps its first slice's.
cl_int set_callback(const Table& next, cl_event at, cl_int type, const Callback& programs) {
  auto callback = std::unique_ptr<Callback>(new (std::nothrow) Callback(programs));
  if (!callback) return CL_OUT_OF_HOST_MEMORY;
  if (programs.event != nullptr) {
    if (const cl_int error = interpose::clRetainEvent(programs.event); error != CL_SUCCESS) return error;
  }
  const cl_int error = next.clSetEventCallback(at, type, call_back, callback.get());
  if (error == CL_SUCCESS) {
    static_cast<void>(callback.release());
  } else if (programs.event != nullptr) {
    interpose::clReleaseEvent(programs.event);
  }
  return error;
}

}  // namespace

cl_event CL_API_CALL clCreateUserEvent(cl_context context, cl_int* error) noexcept {
  Interposer& p = interposer();
  cl_event event = p.next.clCreateUserEvent(context, error);
  if (event == nullptr) return event;
  try {
    p.records.pending_user_events.add(
        event, {p.records.user_events_created.fetch_add(1, std::memory_order_relaxed)});
  } catch (...) {  // out of memory: pacing has a time limit of its own
  }
  return event;
}

cl_int CL_API_CALL clSetUserEventStatus(cl_event event, cl_int status) noexcept {
  Interposer& p = interposer();
  if (status < 0) p.records.has_failed_user_event = true;
  const auto pending = p.records.pending_user_events.find(event);
  const cl_int error = p.next.clSetUserEventStatus(event, status);
  // The event is pending until the driver has notified all waiters. One of them may have released it by now, and the
  // driver may have reused its address.
  if (error == CL_SUCCESS && pending) {
    p.records.pending_user_events.forget_if(
        event, [&](const PendingUserEvent& record) { return record.number == pending->number; });
  }
  return error;
}

cl_int CL_API_CALL clRetainEvent(cl_event event) noexcept {
  Interposer& p = interposer();
  const cl_int error = p.next.clRetainEvent(event);
  if (error != CL_SUCCESS) return error;
  p.records.split_events.retain(event);
  if (p.trace) p.trace->event_retained(event);
  p.costs.event_retained(event);
  p.records.pending_user_events.retain(event);
  return error;
}

cl_int CL_API_CALL clReleaseEvent(cl_event event) noexcept {
  Interposer& p = interposer();
  if (p.trace) p.trace->event_released(event);
  p.costs.event_released(event);
  if (const auto record = p.records.split_events.release(event)) {
    for (const cl_event first : record->first_slices)
      if (first != nullptr) p.next.clReleaseEvent(first);
  }
  p.records.pending_user_events.release(event);
  return p.next.clReleaseEvent(event);
}

cl_int CL_API_CALL clGetEventInfo(cl_event event, cl_event_info name, size_t size, void* value,
                                  size_t* size_ret) noexcept {
  Interposer& p = interposer();
  const cl_int error = p.next.clGetEventInfo(event, name, size, value, size_ret);
  if (error != CL_SUCCESS || name != CL_EVENT_COMMAND_EXECUTION_STATUS || value == nullptr) return error;
  const auto record = p.records.split_events.find(event);
  if (!record) return error;
  // The launch has progressed as far as its first slice, and ends with its last. If the first slice failed, the others
  // failed because of it, so its error is reported.
  auto* const status = static_cast<cl_int*>(value);
  const cl_int first = furthest(p.next, *record);
  if (*status < 0 && first < 0) {
    *status = first;
  } else if (*status > CL_RUNNING) {
    *status = std::min(*status, std::max<cl_int>(first, CL_RUNNING));
  }
  return error;
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t size, void* value,
                                           size_t* size_ret) noexcept {
  Interposer& p = interposer();
  // The last slice is queried first: if it has no answer, the launch has none.
  const cl_int error = p.next.clGetEventProfilingInfo(event, name, size, value, size_ret);
  if (p.trace && error == CL_SUCCESS && name == CL_PROFILING_COMMAND_END) p.trace->event_ended(event);
  if (error == CL_SUCCESS && name == CL_PROFILING_COMMAND_END) p.costs.event_ended(event);
  const bool beginning = name == CL_PROFILING_COMMAND_QUEUED || name == CL_PROFILING_COMMAND_SUBMIT ||
                         name == CL_PROFILING_COMMAND_START;
  if (error != CL_SUCCESS || !beginning) return error;
  const auto record = value != nullptr ? p.records.split_events.find(event) : std::nullopt;
  if (!record) return error;
  cl_ulong time = 0;
  std::memcpy(&time, value, sizeof time);
  time = earliest(p.next, *record, name, time);
  std::memcpy(value, &time, sizeof time);
  return error;
}

cl_int CL_API_CALL clSetEventCallback(cl_event event, cl_int type, EventNotify notify, void* data) noexcept {
  Interposer& p = interposer();
  if (notify == nullptr) return p.next.clSetEventCallback(event, type, notify, data);
  p.feeder.stop();
  const auto record = p.records.split_events.find(event);
  if (!record && !must_track_callbacks(p.settings())) {
    return p.next.clSetEventCallback(event, type, notify, data);
  }
  if (!record) return set_callback(p.next, event, type, {notify, data});
  const bool beginning = type == CL_SUBMITTED || type == CL_RUNNING;
  return set_callback(p.next, beginning ? record->first_slices[0] : event, type, {notify, data, event});
}

}  // namespace cleave::interpose
