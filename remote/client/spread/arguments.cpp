// Arguments of kernels, set on all servers: handles of wholes become those of parts.
#include <cstring>

#include "remote/client/spread/api.h"
#include "remote/client/spread/bodies.h"
#include "remote/client/spread/contents.h"

namespace cleave::remote::client::spread {
namespace {

// The object whose handle the program's bytes are; null if they are something else.
const Object* object_in(const void* bytes, std::size_t size, Kind kind) {
  if (bytes == nullptr || size != sizeof(void*)) return nullptr;
  void* handle = nullptr;
  std::memcpy(&handle, bytes, sizeof handle);
  return client.objects.find(handle, kind);
}

// Calls set(part's kernel, part) on all servers. The first error of one that is still there.
template <typename Set>
cl_int on_all(const WholeKernel& kernel, Set set) {
  const WholeContext& context = context_of(*body_of<ProgramBody>(*kernel.program).context);
  cl_int error = kGone;
  bool any = false;
  for (std::size_t part = 0; part < kernel.parts.size(); ++part) {
    if (kernel.parts[part] == nullptr) continue;
    const cl_int one = set(kernel.parts[part], part);
    if (one != CL_SUCCESS && !connection_of(context, part).alive()) continue;
    if (!std::exchange(any, true) || error == CL_SUCCESS) error = one;
  }
  return error;
}

// The part of a memory object or a sampler; null if it is another context's, or its server had gone.
template <typename W, typename Context>
const void* part_in(const Object& object, const Context& context, std::size_t part,
                    typename W::Handle& place) {
  const W& whole = body_of<W>(object);
  if (!is_spread(object) || whole.context != context) return nullptr;
  place = whole.parts[part];
  return place == nullptr ? nullptr : &place;
}

}  // namespace

cl_int CL_API_CALL clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void* bytes) {
  WholeKernel& kernel = body_of<WholeKernel>(*find(handle));
  if (index >= kernel.arguments.size()) return CL_INVALID_ARG_INDEX;
  const bool is_value = kernel.facts->takes[index] == KernelFacts::Takes::value;
  const Object* const memory = is_value ? nullptr : object_in(bytes, size, Kind::memory);
  const Object* const sampler =
      is_value || memory != nullptr ? nullptr : object_in(bytes, size, Kind::sampler);
  // Each queue is on one server: the others' kernels would have no argument.
  if (!is_value && object_in(bytes, size, Kind::queue) != nullptr) return CL_INVALID_MEM_OBJECT;
  const Object* const context = body_of<ProgramBody>(*kernel.program).context;
  const cl_int error = on_all(kernel, [&](cl_kernel one, std::size_t part) {
    cl_mem memory_part = nullptr;
    cl_sampler sampler_part = nullptr;
    const void* value = bytes;
    if (memory != nullptr) value = part_in<WholeMemory>(*memory, context, part, memory_part);
    if (sampler != nullptr) value = part_in<WholeSampler>(*sampler, context, part, sampler_part);
    if (value == nullptr && bytes != nullptr)
      return memory != nullptr ? CL_INVALID_MEM_OBJECT : CL_INVALID_SAMPLER;
    return client::clSetKernelArg(one, index, size, value);
  });
  if (error != CL_SUCCESS) return error;
  kernel.arguments[index].contents.reset();
  if (memory != nullptr) {
    const WholeMemory& whole = body_of<WholeMemory>(*memory);
    kernel.arguments[index].contents = whole.contents;
    kernel.arguments[index].flags = whole.flags;
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel handle, cl_kernel_exec_info name, size_t size,
                                       const void* value) {
  if (name == CL_KERNEL_EXEC_INFO_SVM_PTRS) return CL_INVALID_OPERATION;
  return on_all(body_of<WholeKernel>(*find(handle)), [&](cl_kernel one, std::size_t) {
    return client::clSetKernelExecInfo(one, name, size, value);
  });
}

}  // namespace cleave::remote::client::spread
