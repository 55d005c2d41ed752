// The functions of the table below that tell what a run costs: they enqueue, wait, move data or create what a server has to answer for.
// Each calls the driver's own and returns what that returns. A thread that is cancelled in clFinish or clWaitForEvents goes from there, as
// natively: such a wait may never end. In the others it goes when the call is over.

#include <cstdint>
#include <pthread.h>
#include <string_view>
#include <tuple>

#include "base/scoped_thread_state.h"
#include "interpose/calls/overrides.h"
#include "interpose/interposer.h"
#include "interpose/limits/image_bytes.h"
#include "interpose/offload/offload.h"
#include "interpose/waits/blocking_calls.h"
#include "opencl/function_traits.h"

namespace cleave::interpose {
namespace {

Offload& offload() { return *interposer().offload; }

bool is_good(cl_int error) { return error >= 0; }
bool is_good(const void* made) { return made != nullptr; }

// How many bytes a call moves between the program and its device: moved<Entry>(below, parameters after the first).
template <auto Entry>
struct Moved {
  template <typename... Parameters>
  static std::uint64_t bytes(const Table&, Parameters...) {
    return 0;
  }
};

std::uint64_t volume(const std::size_t* region) {
  return region == nullptr ? 0 : std::uint64_t{region[0]} * region[1] * region[2];
}

std::uint64_t image_volume(const Table& below, cl_mem image, const std::size_t* region) {
  std::size_t element = 0;
  const cl_int error = below.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, nullptr);
  return error == CL_SUCCESS ? volume(region) * element : 0;
}

// A map for writing fetches what is there, and brings back what was written; one that invalidates only the latter.
std::uint64_t times_mapped(cl_map_flags flags) {
  if ((flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0) return 1;
  return (flags & CL_MAP_WRITE) != 0 ? 2 : 1;
}

struct MovedBuffer {
  template <typename... Others>
  static std::uint64_t bytes(const Table&, cl_mem, cl_bool, std::size_t, std::size_t size, Others...) {
    return size;
  }
};
template <>
struct Moved<&Table::clEnqueueReadBuffer> : MovedBuffer {};
template <>
struct Moved<&Table::clEnqueueWriteBuffer> : MovedBuffer {};

struct MovedRectangle {
  template <typename... Others>
  static std::uint64_t bytes(const Table&, cl_mem, cl_bool, const std::size_t*, const std::size_t*,
                             const std::size_t* region, Others...) {
    return volume(region);
  }
};
template <>
struct Moved<&Table::clEnqueueReadBufferRect> : MovedRectangle {};
template <>
struct Moved<&Table::clEnqueueWriteBufferRect> : MovedRectangle {};

struct MovedImage {
  template <typename... Others>
  static std::uint64_t bytes(const Table& below, cl_mem image, cl_bool, const std::size_t*,
                             const std::size_t* region, Others...) {
    return image_volume(below, image, region);
  }
};
template <>
struct Moved<&Table::clEnqueueReadImage> : MovedImage {};
template <>
struct Moved<&Table::clEnqueueWriteImage> : MovedImage {};

template <>
struct Moved<&Table::clEnqueueMapBuffer> {
  template <typename... Others>
  static std::uint64_t bytes(const Table&, cl_mem, cl_bool, cl_map_flags flags, std::size_t, std::size_t size,
                             Others...) {
    return times_mapped(flags) * size;
  }
};
template <>
struct Moved<&Table::clEnqueueMapImage> {
  template <typename... Others>
  static std::uint64_t bytes(const Table& below, cl_mem image, cl_bool, cl_map_flags flags,
                             const std::size_t*, const std::size_t* region, Others...) {
    return times_mapped(flags) * image_volume(below, image, region);
  }
};
template <>
struct Moved<&Table::clEnqueueSVMMap> {
  template <typename... Others>
  static std::uint64_t bytes(const Table&, cl_bool, cl_map_flags flags, void*, std::size_t size, Others...) {
    return times_mapped(flags) * size;
  }
};

// Whether a call waits for its command: the flag is the first cl_bool in all functions of that role.
template <auto Entry, typename... Parameters>
bool waits_for_command(Parameters... parameters) {
  if constexpr (kRole<Entry> == Role::blocking) {
    return std::get<interpose::place_of<cl_bool, Parameters...>()>(std::tuple(parameters...)) != CL_FALSE;
  } else {
    static_cast<void>(std::tuple(parameters...));
    return false;
  }
}

template <auto Entry, typename Function = opencl::FunctionAt<Entry>>
struct MeteredCommand;

template <auto Entry, typename Result, typename... Parameters>
struct MeteredCommand<Entry, Result(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  static Result CL_API_CALL call(cl_command_queue queue, Parameters... parameters) {
    Offload& run = offload();
    run.enqueue(queue);
    run.move(Moved<Entry>::bytes(run.below(), parameters...));
    const bool waits = waits_for_command<Entry>(parameters...);
    if (waits) run.begin_wait();
    const Result result = (run.below().*Entry)(queue, parameters...);
    if (waits) {
      run.end_wait(is_good(result));
    } else if (!is_good(result)) {
      run.fail();
    }
    return result;
  }
};

// Not inlined, so that the caller needs no cleanup. Null: the wait must not be cut short.
[[gnu::noinline]] Offload* begin_cancellable_wait() noexcept {
  const base::ScopedCancelDisable uncancelled;
  Offload& run = offload();
  if (!run.cancellable_waits().begin()) return nullptr;
  run.begin_wait();
  return &run;
}

[[gnu::noinline]] void end_cancellable_wait(bool good) noexcept {
  const base::ScopedCancelDisable uncancelled;
  offload().end_wait(good);
  offload().cancellable_waits().end();
}

// A function that returns when the device, or the server, has answered: called by a thread that can be cancelled within it, or cannot,
// or that goes afterwards, at a place without destructors pending.
template <auto Entry, typename Function = opencl::FunctionAt<Entry>>
struct MeteredWait;

template <auto Entry, typename Result, typename... Parameters>
struct MeteredWait<Entry, Result(CL_API_CALL*)(Parameters...)> {
  static Result CL_API_CALL call_cancellable(Parameters... parameters) {
    const Offload* const run = begin_cancellable_wait();
    if (run == nullptr) return call_then_test_cancel(parameters...);
    const Result result = (run->below().*Entry)(parameters...);
    end_cancellable_wait(is_good(result));
    pthread_testcancel();
    return result;
  }
  static Result CL_API_CALL call_then_test_cancel(Parameters... parameters) {
    const Result result = stay(parameters...);
    pthread_testcancel();
    return result;
  }
  static Result CL_API_CALL call(Parameters... parameters) noexcept {
    const base::ScopedCancelDisable uncancelled;
    Offload& run = offload();
    run.begin_wait();
    const Result result = (run.below().*Entry)(parameters...);
    run.end_wait(is_good(result));
    return result;
  }

 private:
  [[gnu::noinline]] static Result stay(Parameters... parameters) noexcept { return call(parameters...); }
};

// A new queue may have the handle of one that has been released.
template <auto Entry, typename Function = opencl::FunctionAt<Entry>>
struct MeteredQueue;

template <auto Entry, typename Result, typename... Parameters>
struct MeteredQueue<Entry, Result(CL_API_CALL*)(Parameters...)> {
  static Result CL_API_CALL call(Parameters... parameters) {
    offload().forget_queues();
    return MeteredWait<Entry>::call(parameters...);
  }
};

// A server answers a kernel's first launch, and the first value of each argument.
cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t* offset,
                          const size_t* global, const size_t* local, cl_uint waits, const cl_event* wait_list,
                          cl_event* event) {
  constexpr cl_uint kLaunch = CL_UINT_MAX;  // no argument's number
  Offload& run = offload();
  run.enqueue(queue);
  const bool is_first = run.begin_first_wait(kernel, kLaunch);
  const cl_int error =
      run.below().clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, wait_list, event);
  if (is_first) run.end_wait(is_good(error));
  if (!is_good(error)) run.fail();
  return error;
}

cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size, const void* value) noexcept {
  const base::ScopedCancelDisable uncancelled;
  Offload& run = offload();
  const bool is_first = run.begin_first_wait(kernel, index);
  const cl_int error = run.below().clSetKernelArg(kernel, index, size, value);
  if (is_first) run.end_wait(is_good(error));
  return error;
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                                 cl_int* error) {
  Offload& run = offload();
  if (host != nullptr) run.move(size);
  return run.below().clCreateBuffer(context, flags, size, host, error);
}

cl_mem CL_API_CALL create_buffer_with_properties(cl_context context, const cl_mem_properties* properties,
                                                 cl_mem_flags flags, size_t size, void* host, cl_int* error) {
  Offload& run = offload();
  if (host != nullptr) run.move(size);
  return run.below().clCreateBufferWithProperties(context, properties, flags, size, host, error);
}

cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                const cl_image_desc* image, void* host, cl_int* error) {
  Offload& run = offload();
  if (host != nullptr) run.move(bytes_of_image(format, image));
  return run.below().clCreateImage(context, flags, format, image, host, error);
}

// A function that the table below lacks stays missing.
template <auto Entry>
void replace(Table& table, opencl::FunctionAt<Entry> function) {
  if (table.*Entry != nullptr) table.*Entry = function;
}

template <auto Entry, bool kEnqueues>
void meter_if_command(Table& table) {
  if constexpr (kEnqueues) replace<Entry>(table, MeteredCommand<Entry>::call);
}

constexpr bool enqueues(std::string_view name) { return name.starts_with("clEnqueue"); }

}  // namespace

void Offload::end_cut_waits(void* count) noexcept {
  Interposer* const p = current_interposer();
  if (p == nullptr || p->offload == nullptr) return;
  for (auto left = CancellableWaits::counted(count); left != 0; --left) p->offload->end_wait(true);
}

Table Offload::metered() const {
  Table table = below_;
#define CL_FUNCTION(version, name, ...) meter_if_command<&Table::name, enqueues(#name)>(table);
#include "opencl/functions.def"
#undef CL_FUNCTION
  replace<&Table::clEnqueueNDRangeKernel>(table, launch);
  replace<&Table::clSetKernelArg>(table, set_argument);
  replace<&Table::clCreateBuffer>(table, create_buffer);
  replace<&Table::clCreateBufferWithProperties>(table, create_buffer_with_properties);
  replace<&Table::clCreateImage>(table, create_image);
  replace<&Table::clCreateCommandQueue>(table, MeteredQueue<&Table::clCreateCommandQueue>::call);
  replace<&Table::clCreateCommandQueueWithProperties>(
      table, MeteredQueue<&Table::clCreateCommandQueueWithProperties>::call);
  replace<&Table::clFinish>(table, MeteredWait<&Table::clFinish>::call_cancellable);
  replace<&Table::clWaitForEvents>(table, MeteredWait<&Table::clWaitForEvents>::call_cancellable);
  replace<&Table::clCreateContext>(table, MeteredWait<&Table::clCreateContext>::call);
  replace<&Table::clCreateContextFromType>(table, MeteredWait<&Table::clCreateContextFromType>::call);
  replace<&Table::clBuildProgram>(table, MeteredWait<&Table::clBuildProgram>::call_then_test_cancel);
  replace<&Table::clCompileProgram>(table, MeteredWait<&Table::clCompileProgram>::call_then_test_cancel);
  replace<&Table::clLinkProgram>(table, MeteredWait<&Table::clLinkProgram>::call_then_test_cancel);
  replace<&Table::clCreateKernel>(table, MeteredWait<&Table::clCreateKernel>::call);
  replace<&Table::clCreateSubBuffer>(table, MeteredWait<&Table::clCreateSubBuffer>::call);
  return table;
}

}  // namespace cleave::interpose
