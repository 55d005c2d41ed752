// The functions that create what a memory limit counts, and the queries that tell the limit.

#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "interpose/calls/next_function.h"
#include "interpose/calls/overrides.h"
#include "interpose/interposer.h"
#include "interpose/limits/image_bytes.h"
#include "opencl/missing_functions.h"

namespace cleave::interpose {
namespace {

using opencl::ExtensionFunctions;

// Whether this interposer counts: of two that are stacked, the one that splits does.
bool counts(Interposer& p) noexcept { return p.memory.active() && p.owner.is_this(); }

enum class Kind : std::uint8_t { buffer, image, pipe };

template <typename Handle>
Handle refuse_object(cl_int code, cl_int* error) noexcept {
  if (error != nullptr) *error = code;
  return nullptr;
}

// A buffer larger than what CL_DEVICE_MAX_MEM_ALLOC_SIZE says is a mistake of the program's, and no lack of memory.
cl_int refusal_of_buffer(Interposer& p, std::uint64_t bytes, cl_int lack) noexcept {
  return p.memory.limited(bytes) < bytes ? CL_INVALID_BUFFER_SIZE : lack;
}

// `create` is the driver's call.
template <typename Create>
cl_mem create_counted(Interposer& p, cl_context context, std::uint64_t bytes, cl_int* error, Kind kind,
                      Create create) noexcept {
  if (!counts(p)) return create();
  constexpr cl_int kLack = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  auto booking = p.memory.book(context, nullptr, bytes);
  if (!booking)
    return refuse_object<cl_mem>(kind == Kind::buffer ? refusal_of_buffer(p, bytes, kLack) : kLack, error);
  cl_mem const made = create();
  if (made == nullptr) return p.memory.cancel(std::move(booking)), nullptr;
  std::size_t size = 0;
  if (kind == Kind::image &&
      p.next.clGetMemObjectInfo(made, CL_MEM_SIZE, sizeof size, &size, nullptr) == CL_SUCCESS &&
      !p.memory.adjust(*booking, size)) {
    p.memory.cancel(std::move(booking));
    p.next.clReleaseMemObject(made);
    return refuse_object<cl_mem>(kLack, error);
  }
  p.memory.keep(std::move(booking), made);
  return made;
}

// Images over a buffer or another image have no memory of their own.
template <typename Create>
cl_mem create_image(Interposer& p, cl_context context, const cl_image_format* format,
                    const cl_image_desc* image, cl_int* error, Create create) noexcept {
  if (image != nullptr && image->mem_object != nullptr) return create();
  return create_counted(p, context, bytes_of_image(format, image), error, Kind::image, create);
}

template <typename Allocate>
void* allocate_counted(Interposer& p, cl_context context, cl_device_id device, std::size_t size,
                       cl_int refusal, cl_int* error, Allocate allocate) noexcept {
  if (!counts(p)) return allocate();
  auto booking = p.memory.book(context, device, size);
  if (!booking) return refuse_object<void*>(refusal_of_buffer(p, size, refusal), error);
  void* const made = allocate();
  if (made == nullptr) return p.memory.cancel(std::move(booking)), nullptr;
  p.memory.keep(std::move(booking), made);
  return made;
}

}  // namespace

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                                  cl_int* error) noexcept {
  Interposer& p = interposer();
  return create_counted(p, context, size, error, Kind::buffer,
                        [&] { return p.next.clCreateBuffer(context, flags, size, host, error); });
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context context, const cl_mem_properties* properties,
                                                cl_mem_flags flags, size_t size, void* host,
                                                cl_int* error) noexcept {
  Interposer& p = interposer();
  return create_counted(p, context, size, error, Kind::buffer, [&] {
    return p.next.clCreateBufferWithProperties(context, properties, flags, size, host, error);
  });
}

cl_mem CL_API_CALL clCreateBufferWithPropertiesINTEL(cl_context context, const cl_properties* properties,
                                                     cl_mem_flags flags, size_t size, void* host,
                                                     cl_int* error) noexcept {
  Interposer& p = interposer();
  return create_counted(p, context, size, error, Kind::buffer, [&] {
    return next_function<&ExtensionFunctions::clCreateBufferWithPropertiesINTEL>(p, context)(
        context, properties, flags, size, host, error);
  });
}

cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                 const cl_image_desc* image, void* host, cl_int* error) noexcept {
  Interposer& p = interposer();
  return create_image(p, context, format, image, error,
                      [&] { return p.next.clCreateImage(context, flags, format, image, host, error); });
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context, const cl_mem_properties* properties,
                                               cl_mem_flags flags, const cl_image_format* format,
                                               const cl_image_desc* image, void* host,
                                               cl_int* error) noexcept {
  Interposer& p = interposer();
  return create_image(p, context, format, image, error, [&] {
    return p.next.clCreateImageWithProperties(context, properties, flags, format, image, host, error);
  });
}

cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t row_pitch, void* host,
                                   cl_int* error) noexcept {
  Interposer& p = interposer();
  cl_image_desc image{};
  image.image_type = CL_MEM_OBJECT_IMAGE2D;
  image.image_width = width;
  image.image_height = height;
  return create_image(p, context, format, &image, error, [&] {
    return p.next.clCreateImage2D(context, flags, format, width, height, row_pitch, host, error);
  });
}

cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t depth, size_t row_pitch,
                                   size_t slice_pitch, void* host, cl_int* error) noexcept {
  Interposer& p = interposer();
  cl_image_desc image{};
  image.image_type = CL_MEM_OBJECT_IMAGE3D;
  image.image_width = width;
  image.image_height = height;
  image.image_depth = depth;
  return create_image(p, context, format, &image, error, [&] {
    return p.next.clCreateImage3D(context, flags, format, width, height, depth, row_pitch, slice_pitch, host,
                                  error);
  });
}

cl_mem CL_API_CALL clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet_size, cl_uint packets,
                                const cl_pipe_properties* properties, cl_int* error) noexcept {
  Interposer& p = interposer();
  return create_counted(p, context, std::uint64_t{packet_size} * packets, error, Kind::pipe, [&] {
    return p.next.clCreatePipe(context, flags, packet_size, packets, properties, error);
  });
}

void* CL_API_CALL clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
                             cl_uint alignment) noexcept {
  Interposer& p = interposer();
  return allocate_counted(p, context, nullptr, size, CL_SUCCESS, nullptr,
                          [&] { return p.next.clSVMAlloc(context, flags, size, alignment); });
}

// Memory of the host is counted on all devices of the context, as that of other objects is.
void* CL_API_CALL clHostMemAllocINTEL(cl_context context, const cl_properties* properties, size_t size,
                                      cl_uint alignment, cl_int* error) noexcept {
  Interposer& p = interposer();
  return allocate_counted(p, context, nullptr, size, CL_OUT_OF_RESOURCES, error, [&] {
    return next_function<&ExtensionFunctions::clHostMemAllocINTEL>(p, context)(context, properties, size,
                                                                               alignment, error);
  });
}

void* CL_API_CALL clDeviceMemAllocINTEL(cl_context context, cl_device_id device,
                                        const cl_properties* properties, size_t size, cl_uint alignment,
                                        cl_int* error) noexcept {
  Interposer& p = interposer();
  return allocate_counted(p, context, device, size, CL_OUT_OF_RESOURCES, error, [&] {
    return next_function<&ExtensionFunctions::clDeviceMemAllocINTEL>(p, context)(context, device, properties,
                                                                                 size, alignment, error);
  });
}

void* CL_API_CALL clSharedMemAllocINTEL(cl_context context, cl_device_id device,
                                        const cl_properties* properties, size_t size, cl_uint alignment,
                                        cl_int* error) noexcept {
  Interposer& p = interposer();
  return allocate_counted(p, context, device, size, CL_OUT_OF_RESOURCES, error, [&] {
    return next_function<&ExtensionFunctions::clSharedMemAllocINTEL>(p, context)(context, device, properties,
                                                                                 size, alignment, error);
  });
}

cl_int CL_API_CALL clRetainMemObject(cl_mem object) noexcept {
  Interposer& p = interposer();
  const cl_int error = p.next.clRetainMemObject(object);
  if (error == CL_SUCCESS) p.memory.retained(object);
  return error;
}

// With `free`, the program frees the allocations itself.
cl_int CL_API_CALL clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void* pointers[],
                                    void(CL_CALLBACK* free)(cl_command_queue, cl_uint, void*[], void*),
                                    void* user_data, cl_uint waits, const cl_event* wait_list,
                                    cl_event* event) noexcept {
  Interposer& p = interposer();
  p.note_command(queue);
  p.feeder.stop();
  if (const cl_int late = p.feeder.settle(queue); late != CL_SUCCESS) [[unlikely]]
    return late;
  const GateGuard guard(p.gates.of(queue));
  cl_event made = nullptr;
  const bool counted = p.memory.has_svm() && free == nullptr && pointers != nullptr;
  cl_event* const asked = event == nullptr && counted ? &made : event;
  auto taken = counted ? p.memory.take(std::span(pointers, count)) : std::vector<MemoryLimits::Taken>();
  const cl_int error =
      p.next.clEnqueueSVMFree(queue, count, pointers, free, user_data, waits, wait_list, asked);
  if (error == CL_SUCCESS) {
    if (counted) p.memory.freeing_with(std::move(taken), *asked);
  } else {
    p.memory.put_back(std::move(taken));
  }
  if (made != nullptr) p.next.clReleaseEvent(made);
  return error;
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t size, void* value,
                                   size_t* size_ret) noexcept {
  Interposer& p = interposer();
  const cl_int error = p.next.clGetDeviceInfo(device, name, size, value, size_ret);
  if (name != CL_DEVICE_GLOBAL_MEM_SIZE && name != CL_DEVICE_MAX_MEM_ALLOC_SIZE) return error;
  cl_ulong bytes = 0;
  if (error != CL_SUCCESS || value == nullptr || size < sizeof bytes) return error;
  std::memcpy(&bytes, value, sizeof bytes);
  bytes = p.memory.limited(bytes);
  std::memcpy(value, &bytes, sizeof bytes);
  return error;
}

}  // namespace cleave::interpose
