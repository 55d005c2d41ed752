#include "interpose/calls/table.h"

#include <memory>
#include <pthread.h>

#include "base/scoped_thread_state.h"
#include "interpose/calls/overrides.h"
#include "interpose/calls/reference_counts.h"
#include "interpose/interposer.h"
#include "interpose/launch/cost_feedback.h"
#include "interpose/waits/blocking_calls.h"

namespace cleave::interpose {
namespace {

// An override as the program calls it: a thread that is cancelled goes when it has left us.
template <auto Override, typename Function = decltype(Override)>
struct CancelSafe;

template <auto Override, typename Result, typename... Parameters>
struct CancelSafe<Override, Result(CL_API_CALL*)(Parameters...) noexcept> {
  static Result CL_API_CALL call(Parameters... parameters) noexcept {
    const base::ScopedCancelDisable uncancelled;
    return Override(parameters...);
  }

  // For what takes long: there drivers have places where a thread is cancelled, and a program may have no
  // other. Not noexcept, and with nothing to clean up.
  static Result CL_API_CALL call_then_test_cancel(Parameters... parameters) {
    const Result result = stay(parameters...);
    pthread_testcancel();
    return result;
  }

 private:
  [[gnu::noinline]] static Result stay(Parameters... parameters) noexcept { return call(parameters...); }
};

// A function that enqueues a command, called within the gate of its queue.
template <auto Entry, typename Function = FunctionOf<Entry>>
struct Gated;

template <auto Entry, typename Result, typename... Parameters>
struct Gated<Entry, Result(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  static Result CL_API_CALL call(cl_command_queue queue, Parameters... parameters) noexcept {
    Interposer& p = interposer();
    p.wait_statistics.of(queue).note_work();
    p.launch_timers.begin(queue, p.clock);
    const GateGuard guard(p.gates.of(queue));
    return (p.next.*Entry)(queue, parameters...);
  }
};

// A function that may wait for its command: only then it is a place to go.
template <auto Entry, Name name, typename Function = FunctionOf<Entry>>
struct MayWait;

template <auto Entry, Name name, typename Result, typename... Parameters>
struct MayWait<Entry, name, Result(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  using Own = Blocking<Entry, name>;
  static Result CL_API_CALL call(cl_command_queue queue, Parameters... parameters) {
    using Inside = CancelSafe<&Own::call>;
    return Own::waits(parameters...) ? Inside::call_then_test_cancel(queue, parameters...)
                                     : Inside::call(queue, parameters...);
  }
};

// Calls visit(name, entry of the table, override) for every overridden function of OpenCL itself. The
// compiler checks that an override has the type of what it stands for.
template <typename Visit>
void for_each_override(Visit visit) {
#define CLEAVE_OVERRIDE(function, ...) visit(#function, &Table::function, &CancelSafe<&__VA_ARGS__>::call)
#define CLEAVE_CANCELLABLE(function, override) \
  visit(#function, &Table::function, &CancelSafe<&override>::call_then_test_cancel)
#define CLEAVE_RETAIN(function, records) \
  CLEAVE_OVERRIDE(function, Retain<&Table::function, &Interposer::records>::call)
#define CLEAVE_RELEASE(function, records) \
  CLEAVE_OVERRIDE(function, Release<&Table::function, &Interposer::records>::call)
  CLEAVE_OVERRIDE(clEnqueueNDRangeKernel, clEnqueueNDRangeKernel);
  CLEAVE_OVERRIDE(clEnqueueTask, clEnqueueTask);
  CLEAVE_OVERRIDE(clCreateProgramWithSource, clCreateProgramWithSource);
  CLEAVE_CANCELLABLE(clCreateProgramWithBinary, clCreateProgramWithBinary);
  CLEAVE_OVERRIDE(clCreateProgramWithIL, clCreateProgramWithIL);
  CLEAVE_OVERRIDE(clCreateProgramWithBuiltInKernels, clCreateProgramWithBuiltInKernels);
  CLEAVE_CANCELLABLE(clBuildProgram, clBuildProgram);
  CLEAVE_CANCELLABLE(clCompileProgram, clCompileProgram);
  CLEAVE_CANCELLABLE(clLinkProgram, clLinkProgram);
  CLEAVE_OVERRIDE(clGetProgramInfo, clGetProgramInfo);
  CLEAVE_OVERRIDE(clGetProgramBuildInfo, clGetProgramBuildInfo);
  CLEAVE_RETAIN(clRetainProgram, programs);
  CLEAVE_RELEASE(clReleaseProgram, programs);
  CLEAVE_OVERRIDE(clCreateKernel, clCreateKernel);
  CLEAVE_OVERRIDE(clCreateKernelsInProgram, clCreateKernelsInProgram);
  CLEAVE_OVERRIDE(clCloneKernel, clCloneKernel);
  CLEAVE_RETAIN(clRetainKernel, kernels);
  CLEAVE_RELEASE(clReleaseKernel, kernels);
  CLEAVE_OVERRIDE(clCreateCommandQueue, clCreateCommandQueue);
  CLEAVE_OVERRIDE(clCreateCommandQueueWithProperties, clCreateCommandQueueWithProperties);
  CLEAVE_OVERRIDE(clSetCommandQueueProperty, clSetCommandQueueProperty);
  CLEAVE_RETAIN(clRetainCommandQueue, queues);
  CLEAVE_OVERRIDE(clReleaseCommandQueue, clReleaseCommandQueue);
  CLEAVE_OVERRIDE(clGetContextInfo, clGetContextInfo);
  CLEAVE_OVERRIDE(clCreateUserEvent, clCreateUserEvent);
  CLEAVE_OVERRIDE(clSetUserEventStatus, clSetUserEventStatus);
  CLEAVE_OVERRIDE(clRetainEvent, clRetainEvent);
  CLEAVE_OVERRIDE(clReleaseEvent, clReleaseEvent);
  CLEAVE_OVERRIDE(clGetEventInfo, clGetEventInfo);
  CLEAVE_OVERRIDE(clGetEventProfilingInfo, clGetEventProfilingInfo);
  CLEAVE_OVERRIDE(clSetEventCallback, clSetEventCallback);
  CLEAVE_OVERRIDE(clGetExtensionFunctionAddress, clGetExtensionFunctionAddress);
  CLEAVE_OVERRIDE(clGetExtensionFunctionAddressForPlatform, clGetExtensionFunctionAddressForPlatform);
#undef CLEAVE_RETAIN
#undef CLEAVE_RELEASE
  // These see to that themselves, and where they change nothing, a thread is cancelled as natively.
  visit("clFinish", &Table::clFinish, &clFinish);
  visit("clWaitForEvents", &Table::clWaitForEvents, &clWaitForEvents);
  // Everything else that puts a command on a queue only passes the queue's gate.
#define CLEAVE_GATED(function) CLEAVE_OVERRIDE(function, Gated<&Table::function>::call)
  CLEAVE_GATED(clEnqueueFillBuffer);
  CLEAVE_GATED(clEnqueueCopyBuffer);
  CLEAVE_GATED(clEnqueueCopyBufferRect);
  CLEAVE_GATED(clEnqueueFillImage);
  CLEAVE_GATED(clEnqueueCopyImage);
  CLEAVE_GATED(clEnqueueCopyImageToBuffer);
  CLEAVE_GATED(clEnqueueCopyBufferToImage);
  CLEAVE_GATED(clEnqueueUnmapMemObject);
  CLEAVE_GATED(clEnqueueMigrateMemObjects);
  CLEAVE_GATED(clEnqueueNativeKernel);
  CLEAVE_GATED(clEnqueueMarker);
  CLEAVE_GATED(clEnqueueMarkerWithWaitList);
  CLEAVE_GATED(clEnqueueBarrier);
  CLEAVE_GATED(clEnqueueBarrierWithWaitList);
  CLEAVE_GATED(clEnqueueWaitForEvents);
  CLEAVE_GATED(clEnqueueSVMFree);
  CLEAVE_GATED(clEnqueueSVMMemFill);
  CLEAVE_GATED(clEnqueueSVMUnmap);
  CLEAVE_GATED(clEnqueueSVMMigrateMem);
  CLEAVE_GATED(clEnqueueAcquireGLObjects);
  CLEAVE_GATED(clEnqueueReleaseGLObjects);
  CLEAVE_GATED(clEnqueueAcquireEGLObjectsKHR);
  CLEAVE_GATED(clEnqueueReleaseEGLObjectsKHR);
#undef CLEAVE_GATED
  // And those that may wait for it.
#define CLEAVE_BLOCKING(function) \
  visit(#function, &Table::function, &MayWait<&Table::function, #function>::call)
  CLEAVE_BLOCKING(clEnqueueReadBuffer);
  CLEAVE_BLOCKING(clEnqueueReadBufferRect);
  CLEAVE_BLOCKING(clEnqueueWriteBuffer);
  CLEAVE_BLOCKING(clEnqueueWriteBufferRect);
  CLEAVE_BLOCKING(clEnqueueReadImage);
  CLEAVE_BLOCKING(clEnqueueWriteImage);
  CLEAVE_BLOCKING(clEnqueueMapBuffer);
  CLEAVE_BLOCKING(clEnqueueMapImage);
  CLEAVE_BLOCKING(clEnqueueSVMMemcpy);
  CLEAVE_BLOCKING(clEnqueueSVMMap);
#undef CLEAVE_BLOCKING
#undef CLEAVE_OVERRIDE
#undef CLEAVE_CANCELLABLE
}

void fill(Table& table, const Table& next, bool disabled) {
  table = next;
  for_each_override([&](std::string_view name, auto entry, auto override) {
    if (disabled && !name.starts_with("clGetExtensionFunctionAddress")) return;
    if (next.*entry != nullptr) table.*entry = override;
  });
}

}  // namespace

const Table* install(const Table& next, const Face& face, base::Configuration configuration,
                     base::Clock& clock) noexcept try {
  auto made = std::make_unique<Interposer>(next, face.name, face.next_name, std::move(configuration), clock);
  fill(made->table, next, made->settings().disable);
  const Table* const table = &made->table;
  replace_interposer(made.release());  // lives for ever, as the calls that use it may
  return table;
} catch (...) {
  return nullptr;
}

void uninstall() { delete replace_interposer(nullptr); }

void* find_override(std::string_view name) {
  void* found = nullptr;
  for_each_override([&](std::string_view known, auto, auto override) {
    if (known == name) found = reinterpret_cast<void*>(override);
  });
  if (name == "clCommandNDRangeKernelKHR") {
    found = reinterpret_cast<void*>(&CancelSafe<&clCommandNDRangeKernelKHR>::call);
  }
  if (name == "clCreateCommandQueueWithPropertiesKHR") {
    found = reinterpret_cast<void*>(&CancelSafe<&clCreateCommandQueueWithPropertiesKHR>::call);
  }
  return found;
}

void stand_aside() noexcept {
  if (Interposer* const made = current_interposer()) made->stand_aside();
}

void at_load() noexcept { register_fork_handlers(); }

void at_exit() noexcept {
  Interposer* const made = current_interposer();
  if (made == nullptr) return;
  made->write_summary();
  if (made->trace) made->trace->end();
  save_costs(*made);
  made->neighbours.stop();
}

}  // namespace cleave::interpose
