#include "tests/sim/driver/programs/kernel_arguments.h"

#include <cstring>

#include "tests/sim/driver/core/driver_state.h"

namespace cleave::sim {
namespace {

void set_memory(Kernel& kernel, Kernel::ArgumentSlot& slot, std::size_t size, const void* value) {
  require(size == sizeof(cl_mem), CL_INVALID_ARG_SIZE);
  slot.value.kind = Argument::Kind::memory;
  cl_mem handle = nullptr;
  if (value != nullptr) std::memcpy(&handle, value, sizeof handle);
  if (handle != nullptr) {
    slot.handle = handle;
    slot.value.object = kernel.state.get(handle, CL_INVALID_MEM_OBJECT).id;
  }
}

void set_sampler(Kernel& kernel, Kernel::ArgumentSlot& slot, std::size_t size, const void* value) {
  require(value != nullptr, CL_INVALID_SAMPLER);
  require(size == sizeof(cl_sampler), CL_INVALID_ARG_SIZE);
  cl_sampler handle = nullptr;
  std::memcpy(&handle, value, sizeof handle);
  slot.value.kind = Argument::Kind::sampler;
  slot.handle = handle;
  slot.value.object = kernel.state.get(handle).id;
}

// Where the text does not say what a parameter is, a live memory object's handle is taken for one.
void set_unknown(Kernel& kernel, Kernel::ArgumentSlot& slot, std::size_t size, const void* value) {
  cl_mem handle = nullptr;
  if (value != nullptr && size == sizeof handle) std::memcpy(&handle, value, sizeof handle);
  if (kernel.state.find_as<Memory>(handle) != nullptr) {
    set_memory(kernel, slot, size, value);
  } else {
    slot.value.kind = value == nullptr ? Argument::Kind::local : Argument::Kind::value;
  }
}

Kernel::ArgumentSlot& slot_of(Kernel& kernel, cl_uint index) {
  require(index < kernel.arguments.size(), CL_INVALID_ARG_INDEX);
  return kernel.arguments[index];
}

}  // namespace

void set_argument(Kernel& kernel, cl_uint index, std::size_t size, const void* value) {
  Kernel::ArgumentSlot& slot = slot_of(kernel, index);
  Kernel::ArgumentSlot fresh;
  fresh.value.size = size;
  switch (kernel.signature.parameters[index].kind) {
    case Parameter::Kind::memory:
      set_memory(kernel, fresh, size, value);
      break;
    case Parameter::Kind::sampler:
      set_sampler(kernel, fresh, size, value);
      break;
    case Parameter::Kind::unknown:
      set_unknown(kernel, fresh, size, value);
      break;
    case Parameter::Kind::local:
      require(value == nullptr, CL_INVALID_ARG_VALUE);
      require(size > 0, CL_INVALID_ARG_SIZE);
      fresh.value.kind = Argument::Kind::local;
      break;
    case Parameter::Kind::value:
      require(value != nullptr, CL_INVALID_ARG_VALUE);
      require(size > 0, CL_INVALID_ARG_SIZE);
      fresh.value.kind = Argument::Kind::value;
      break;
  }
  if (value != nullptr) {
    const auto* first = static_cast<const std::byte*>(value);
    fresh.value.bytes.assign(first, first + size);
  }
  slot = std::move(fresh);
}

void set_svm_argument(Kernel& kernel, cl_uint index, const void* pointer) {
  Kernel::ArgumentSlot& slot = slot_of(kernel, index);
  const Parameter::Kind kind = kernel.signature.parameters[index].kind;
  require(kind == Parameter::Kind::memory || kind == Parameter::Kind::unknown, CL_INVALID_ARG_INDEX);
  Kernel::ArgumentSlot fresh;
  fresh.value.kind = Argument::Kind::svm;
  fresh.value.size = sizeof pointer;
  fresh.value.bytes.resize(sizeof pointer);
  std::memcpy(fresh.value.bytes.data(), &pointer, sizeof pointer);
  slot = std::move(fresh);
}

CapturedArguments capture(const Kernel& kernel) {
  CapturedArguments captured;
  for (const Kernel::ArgumentSlot& slot : kernel.arguments) {
    require(slot.value.kind != Argument::Kind::unset, CL_INVALID_KERNEL_ARGS);
    Object* object = slot.handle == nullptr ? nullptr : kernel.state.find(slot.handle);
    require(slot.handle == nullptr || object != nullptr, CL_INVALID_KERNEL_ARGS);
    captured.values.push_back(slot.value);
    captured.objects.push_back(object == nullptr ? nullptr : object->shared_from_this());
  }
  return captured;
}

namespace {

// From the pointer to the end of its allocation.
Execution::Storage svm_storage(const DriverState& state, const Argument& argument) {
  std::byte* pointer = nullptr;
  std::memcpy(&pointer, argument.bytes.data(), sizeof pointer);
  auto after = state.svm.upper_bound(pointer);
  if (pointer == nullptr || after == state.svm.begin()) return {pointer, 0};
  const auto& [base, block] = *--after;
  const auto at = static_cast<std::size_t>(pointer - base);
  return {pointer, at < block.size ? block.size - at : 0};
}

}  // namespace

std::vector<Execution::Storage> storage_of(const DriverState& state, const CapturedArguments& arguments) {
  std::vector<Execution::Storage> storage(arguments.values.size());
  for (std::size_t i = 0; i < storage.size(); ++i) {
    if (arguments.values[i].kind == Argument::Kind::svm) storage[i] = svm_storage(state, arguments.values[i]);
    if (arguments.values[i].kind != Argument::Kind::memory || !arguments.objects[i]) continue;
    const auto& memory = static_cast<const Memory&>(*arguments.objects[i]);
    storage[i] = {memory.data, memory.size};
  }
  return storage;
}

}  // namespace cleave::sim
