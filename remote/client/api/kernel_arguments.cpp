// Kernel arguments: values and handles.
//
// The first argument of a form (its size; whether it is a value, a buffer, an image, ...) is sent with an answer, so that
// the program gets the driver's own error. A form that was accepted once for a kernel of that name is sent without.
#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/link/connection.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::client {
namespace {

using ArgumentKind = KernelSignature::ArgumentKind;

struct ArgumentValue {
  wire::Argument kind = wire::Argument::bytes;
  Id object = 0;
  unsigned form = 0;  // KernelSignature::Accepted::form
};

constexpr unsigned kPlain = 1;
constexpr unsigned kLocal = 2;
constexpr unsigned kNullHandle = 3;
constexpr unsigned kSampler = 4;
constexpr unsigned kQueue = 5;
constexpr unsigned kSvm = 6;
constexpr unsigned kMemory = 0x10000;  // plus the memory object's type

// Determines what the program's bytes are. The address of a released object of the client's is an error; all else is a
// value.
cl_int classify(const KernelState& kernel, ArgumentKind argument_kinds, std::size_t size, const void* bytes,
                ArgumentValue& value) {
  if (bytes == nullptr) {
    value = argument_kinds == ArgumentKind::handle ? ArgumentValue{wire::Argument::object, 0, kNullHandle}
                                                   : ArgumentValue{wire::Argument::local, 0, kLocal};
    return CL_SUCCESS;
  }
  value = {wire::Argument::bytes, 0, kPlain};
  if (size != sizeof(void*) || argument_kinds == ArgumentKind::value) return CL_SUCCESS;
  void* handle = nullptr;
  std::memcpy(&handle, bytes, sizeof handle);
  if (handle == nullptr) {
    if (argument_kinds == ArgumentKind::handle) value = {wire::Argument::object, 0, kNullHandle};
    return CL_SUCCESS;
  }
  const ObjectState* owner = nullptr;
  if (const Object* const memory = client.objects.find(handle, Kind::memory)) {
    const MemoryState& state = state_of<MemoryState>(*memory);
    owner = &state;
    value = {wire::Argument::object, state.id, kMemory + state.type};
  } else if (const Object* const sampler = client.objects.find(handle, Kind::sampler)) {
    owner = &state_of<ObjectState>(*sampler);
    value = {wire::Argument::object, owner->id, kSampler};
  } else if (const Object* const queue = client.objects.find(handle, Kind::queue)) {
    owner = &state_of<ObjectState>(*queue);
    value = {wire::Argument::object, owner->id, kQueue};
  } else if (argument_kinds == ArgumentKind::handle || client.objects.slot_at(handle) != nullptr) {
    return CL_INVALID_MEM_OBJECT;
  }
  // Ids are valid on one connection only; a composite over several servers has none.
  if (owner != nullptr && (owner->connection != kernel.connection || owner->id == 0))
    return CL_INVALID_MEM_OBJECT;
  return CL_SUCCESS;
}

void mark_set(KernelState& kernel, cl_uint index, std::size_t local_size) {
  kernel.set[index] = true;
  if (kernel.local_sizes[index] == local_size) return;
  kernel.local_sizes[index] = local_size;
  const base::MutexLock lock(kernel.mutex);
  kernel.accepted.clear();  // a launch may now need too much local memory
}

template <typename Make>
cl_int send(KernelState& kernel, cl_uint index, std::size_t size, unsigned form, Make make) {
  const bool there = index < kernel.signature->argument_kinds.size();
  const KernelSignature::Accepted accepted{size, form};
  bool certain = false;
  if (there) {
    const base::MutexLock lock(kernel.signature->mutex);
    const auto& known = kernel.signature->accepted[index];
    certain = std::find(known.begin(), known.end(), accepted) != known.end();
  }
  if (certain) {
    const cl_int error = kernel.connection->post({}, make);
    if (error == CL_SUCCESS) mark_set(kernel, index, form == kLocal ? size : 0);
    return error;
  }
  const cl_int error = kernel.connection->call({}, make);
  if (error != CL_SUCCESS || !there) return error;
  mark_set(kernel, index, form == kLocal ? size : 0);
  // How much local memory is possible depends on the other arguments.
  if (form == kLocal) return CL_SUCCESS;
  const base::MutexLock lock(kernel.signature->mutex);
  kernel.signature->accepted[index].push_back(accepted);
  return CL_SUCCESS;
}

}  // namespace

cl_int CL_API_CALL clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void* bytes) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_KERNEL;
  KernelState& kernel = state_of<KernelState>(*object);
  if (index >= kernel.signature->argument_kinds.size()) return CL_INVALID_ARG_INDEX;
  ArgumentValue value;
  const cl_int error = classify(kernel, kernel.signature->argument_kinds[index], size, bytes, value);
  if (error != CL_SUCCESS) return error;
  if (value.kind == wire::Argument::bytes && size > kMaxArgument) return CL_INVALID_ARG_SIZE;
  return send(kernel, index, size, value.form, [&](auto& b) {
    flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> content;
    if (value.kind == wire::Argument::bytes)
      content = b.CreateVector(static_cast<const std::uint8_t*>(bytes), size);
    return wire::CreateSetKernelArg(b, kernel.id, index, size, value.kind, value.object, content);
  });
}

cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel handle, cl_uint index, const void* pointer) {
  KernelState* const kernel = find_state(handle);
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  if (index >= kernel->signature->argument_kinds.size()) return CL_INVALID_ARG_INDEX;
  if (pointer != nullptr && !client.svm.holds(pointer, 0, *kernel->connection)) return CL_INVALID_ARG_VALUE;
  return send(*kernel, index, sizeof(void*), kSvm, [&](auto& b) {
    return wire::CreateSetKernelArg(b, kernel->id, index, sizeof(void*), wire::Argument::svm,
                                    reinterpret_cast<std::uint64_t>(pointer));
  });
}

cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel handle, cl_kernel_exec_info name, size_t size,
                                       const void* value) {
  const KernelState* const kernel = find_state(handle);
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  if (value == nullptr && size != 0) return CL_INVALID_VALUE;
  if (name == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM && size == sizeof(cl_bool)) {
    cl_bool wanted = CL_FALSE;
    std::memcpy(&wanted, value, sizeof wanted);
    if (wanted != CL_FALSE) return CL_INVALID_OPERATION;  // no device offers it
  }
  return kernel->connection->call({}, [&](auto& b) {
    flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> bytes;
    if (value != nullptr) bytes = b.CreateVector(static_cast<const std::uint8_t*>(value), size);
    return wire::CreateSetKernelExecInfo(b, kernel->id, name, bytes);
  });
}

}  // namespace cleave::remote::client
