#include "interpose/table.h"

#include <memory>
#include <pthread.h>

#include "base/undisturbed.h"
#include "interpose/blocking.h"
#include "interpose/counted.h"
#include "interpose/lessons.h"
#include "interpose/overrides.h"
#include "interpose/process.h"

namespace cleave::interpose {
namespace {

// An override as the program calls it: a thread that is cancelled goes when it has left us.
template <auto Override, typename Function = decltype(Override)>
struct Entered;

template <auto Override, typename Result, typename... Parameters>
struct Entered<Override, Result(CL_API_CALL*)(Parameters...) noexcept> {
  static Result CL_API_CALL call(Parameters... parameters) noexcept {
    const base::Uncancelled uncancelled;
    return Override(parameters...);
  }

  // For what takes long: there drivers have places where a thread is cancelled, and a program may have no
  // other. Not noexcept, and with nothing to clean up.
  static Result CL_API_CALL call_and_leave(Parameters... parameters) {
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
    Process& p = process();
    p.waits.of(queue).note_work();
    p.timers.begin(queue, p.clock);
    const Passage passage(p.gates.of(queue));
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
    using Inside = Entered<&Own::call>;
    return Own::waits(parameters...) ? Inside::call_and_leave(queue, parameters...)
                                     : Inside::call(queue, parameters...);
  }
};

// Calls visit(name, entry of the table, override) for every overridden function of OpenCL itself. The
// compiler checks that an override has the type of what it stands for.
template <typename Visit>
void for_each_override(Visit visit) {
#define CLEAVE_OVERRIDE(function, ...) visit(#function, &Table::function, &Entered<&__VA_ARGS__>::call)
#define CLEAVE_LENGTHY(function, override) \
  visit(#function, &Table::function, &Entered<&override>::call_and_leave)
#define CLEAVE_RETAIN(function, records) \
  CLEAVE_OVERRIDE(function, Retain<&Table::function, &Process::records>::call)
#define CLEAVE_RELEASE(function, records) \
  CLEAVE_OVERRIDE(function, Release<&Table::function, &Process::records>::call)
  CLEAVE_OVERRIDE(clEnqueueNDRangeKernel, enqueue_nd_range_kernel);
  CLEAVE_OVERRIDE(clEnqueueTask, enqueue_task);
  CLEAVE_OVERRIDE(clCreateProgramWithSource, create_program_with_source);
  CLEAVE_LENGTHY(clCreateProgramWithBinary, create_program_with_binary);
  CLEAVE_OVERRIDE(clCreateProgramWithIL, create_program_with_il);
  CLEAVE_OVERRIDE(clCreateProgramWithBuiltInKernels, create_program_with_built_in_kernels);
  CLEAVE_LENGTHY(clBuildProgram, build_program);
  CLEAVE_LENGTHY(clCompileProgram, compile_program);
  CLEAVE_LENGTHY(clLinkProgram, link_program);
  CLEAVE_OVERRIDE(clGetProgramInfo, get_program_info);
  CLEAVE_OVERRIDE(clGetProgramBuildInfo, get_program_build_info);
  CLEAVE_RETAIN(clRetainProgram, programs);
  CLEAVE_RELEASE(clReleaseProgram, programs);
  CLEAVE_OVERRIDE(clCreateKernel, create_kernel);
  CLEAVE_OVERRIDE(clCreateKernelsInProgram, create_kernels_in_program);
  CLEAVE_OVERRIDE(clCloneKernel, clone_kernel);
  CLEAVE_RETAIN(clRetainKernel, kernels);
  CLEAVE_RELEASE(clReleaseKernel, kernels);
  CLEAVE_OVERRIDE(clCreateCommandQueue, create_command_queue);
  CLEAVE_OVERRIDE(clCreateCommandQueueWithProperties, create_command_queue_with_properties);
  CLEAVE_OVERRIDE(clSetCommandQueueProperty, set_command_queue_property);
  CLEAVE_RETAIN(clRetainCommandQueue, queues);
  CLEAVE_OVERRIDE(clReleaseCommandQueue, release_command_queue);
  CLEAVE_OVERRIDE(clGetContextInfo, get_context_info);
  CLEAVE_OVERRIDE(clCreateUserEvent, create_user_event);
  CLEAVE_OVERRIDE(clSetUserEventStatus, set_user_event_status);
  CLEAVE_OVERRIDE(clRetainEvent, retain_event);
  CLEAVE_OVERRIDE(clReleaseEvent, release_event);
  CLEAVE_OVERRIDE(clGetEventInfo, get_event_info);
  CLEAVE_OVERRIDE(clGetEventProfilingInfo, get_event_profiling_info);
  CLEAVE_OVERRIDE(clSetEventCallback, set_event_callback);
  CLEAVE_OVERRIDE(clGetExtensionFunctionAddress, get_extension_function_address);
  CLEAVE_OVERRIDE(clGetExtensionFunctionAddressForPlatform, get_extension_function_address_for_platform);
#undef CLEAVE_RETAIN
#undef CLEAVE_RELEASE
  // These see to that themselves, and where they change nothing, a thread is cancelled as natively.
  visit("clFinish", &Table::clFinish, &finish);
  visit("clWaitForEvents", &Table::clWaitForEvents, &wait_for_events);
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
#undef CLEAVE_LENGTHY
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
  auto made = std::make_unique<Process>(next, face.name, face.next_name, std::move(configuration), clock);
  fill(made->table, next, made->settings().disable);
  const Table* const table = &made->table;
  replace_process(made.release());  // lives for ever, as the calls that use it may
  return table;
} catch (...) {
  return nullptr;
}

void uninstall() { delete replace_process(nullptr); }

void* find_override(std::string_view name) {
  void* found = nullptr;
  for_each_override([&](std::string_view known, auto, auto override) {
    if (known == name) found = reinterpret_cast<void*>(override);
  });
  if (name == "clCommandNDRangeKernelKHR") {
    found = reinterpret_cast<void*>(&Entered<&command_nd_range_kernel_khr>::call);
  }
  if (name == "clCreateCommandQueueWithPropertiesKHR") {
    found = reinterpret_cast<void*>(&Entered<&create_command_queue_with_properties_khr>::call);
  }
  return found;
}

void stand_aside() noexcept {
  if (Process* const made = current_process()) made->stand_aside();
}

void at_load() noexcept { watch_forks(); }

void at_exit() noexcept {
  Process* const made = current_process();
  if (made == nullptr) return;
  made->write_summary();
  if (made->trace) made->trace->end();
  keep_lessons(*made);
  made->neighbours.end();
}

}  // namespace cleave::interpose
