// Kernel arguments are set on all servers; handles of composites are replaced by those of their shards.
#include <cstring>

#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/coherence.h"
#include "remote/client/multi_server/composite.h"

namespace cleave::remote::client::multi_server {
namespace {

// The object whose handle the program's bytes are, or null.
const Object* object_in(const void* bytes, std::size_t size, Kind kind) {
  if (bytes == nullptr || size != sizeof(void*)) return nullptr;
  void* handle = nullptr;
  std::memcpy(&handle, bytes, sizeof handle);
  return client.objects.find(handle, kind);
}

// Calls set(shard's kernel, shard) on all servers. Returns the first error of a server that is alive.
template <typename Set>
cl_int for_each_shard(const CompositeKernel& kernel, Set set) {
  const CompositeContext& context = context_of(*state_of<ProgramState>(*kernel.program).context);
  cl_int error = kConnectionLost;
  bool any = false;
  for (std::size_t shard = 0; shard < kernel.shards.size(); ++shard) {
    if (kernel.shards[shard] == nullptr) continue;
    const cl_int one = set(kernel.shards[shard], shard);
    if (one != CL_SUCCESS && !connection_of(context, shard).alive()) continue;
    if (!std::exchange(any, true) || error == CL_SUCCESS) error = one;
  }
  return error;
}

// The shard of a memory object or a sampler. Null if it is another context's, or its server was lost.
template <typename W, typename Context>
const void* shard_in(const Object& object, const Context& context, std::size_t shard,
                     typename W::Handle& place) {
  const W& composite = state_of<W>(object);
  if (!is_multi_server(object) || composite.context != context) return nullptr;
  place = composite.shards[shard];
  return place == nullptr ? nullptr : &place;
}

}  // namespace

cl_int CL_API_CALL clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void* bytes) {
  CompositeKernel& kernel = state_of<CompositeKernel>(object_of(handle));
  if (index >= kernel.arguments.size()) return CL_INVALID_ARG_INDEX;
  const bool is_value = kernel.signature->argument_kinds[index] == KernelSignature::ArgumentKind::value;
  const Object* const memory = is_value ? nullptr : object_in(bytes, size, Kind::memory);
  const Object* const sampler =
      is_value || memory != nullptr ? nullptr : object_in(bytes, size, Kind::sampler);
  // A queue exists on one server only.
  if (!is_value && object_in(bytes, size, Kind::queue) != nullptr) return CL_INVALID_MEM_OBJECT;
  const Object* const context = state_of<ProgramState>(*kernel.program).context;
  const cl_int error = for_each_shard(kernel, [&](cl_kernel one, std::size_t shard) {
    cl_mem memory_shard = nullptr;
    cl_sampler sampler_shard = nullptr;
    const void* value = bytes;
    if (memory != nullptr) value = shard_in<CompositeMemory>(*memory, context, shard, memory_shard);
    if (sampler != nullptr) value = shard_in<CompositeSampler>(*sampler, context, shard, sampler_shard);
    if (value == nullptr && bytes != nullptr)
      return memory != nullptr ? CL_INVALID_MEM_OBJECT : CL_INVALID_SAMPLER;
    return client::clSetKernelArg(one, index, size, value);
  });
  if (error != CL_SUCCESS) return error;
  kernel.arguments[index].coherence.reset();
  if (memory != nullptr) {
    const CompositeMemory& composite = state_of<CompositeMemory>(*memory);
    kernel.arguments[index].coherence = composite.coherence;
    kernel.arguments[index].flags = composite.flags;
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel handle, cl_kernel_exec_info name, size_t size,
                                       const void* value) {
  if (name == CL_KERNEL_EXEC_INFO_SVM_PTRS) return CL_INVALID_OPERATION;
  return for_each_shard(state_of<CompositeKernel>(object_of(handle)), [&](cl_kernel one, std::size_t) {
    return client::clSetKernelExecInfo(one, name, size, value);
  });
}

}  // namespace cleave::remote::client::multi_server
