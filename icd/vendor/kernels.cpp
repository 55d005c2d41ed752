// Kernel arguments, which may be handles.
#include <cstring>
#include <string_view>

#include "icd/vendor/functions.h"
#include "icd/vendor/handle_queries.h"

namespace cleave::vendor {
namespace {

// `extra` of a kernel caches the driver's information about its first arguments, two bits each: the first, that it was queried;
// the second, that the argument is a plain value.
constexpr cl_uint kRemembered = 4 * sizeof(std::uintptr_t);

bool names_a_handle(std::string_view type) {
  return type == "sampler_t" || type == "queue_t" || type == "pipe";
}

// Whether the driver says that the argument is a plain value, which must not be translated whatever it looks like.
bool is_plain_value(cl_kernel raw, cl_uint index) {
  cl_kernel_arg_address_qualifier address = CL_KERNEL_ARG_ADDRESS_GLOBAL;
  if (vendor.next->clGetKernelArgInfo(raw, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address,
                                      nullptr) != CL_SUCCESS ||
      address != CL_KERNEL_ARG_ADDRESS_PRIVATE) {
    return false;
  }
  // Images are in the global address space, samplers and queues are not. No handle's type has a longer name.
  char type[64] = {};
  const cl_int error =
      vendor.next->clGetKernelArgInfo(raw, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type, nullptr);
  if (error != CL_SUCCESS) return error == CL_INVALID_VALUE;
  return *type != '\0' && !names_a_handle(type);
}

bool is_plain_value(Object& kernel, cl_uint index) {
  auto* const raw = static_cast<cl_kernel>(objects::raw_of(kernel));
  if (index >= kRemembered) return is_plain_value(raw, index);
  const std::uintptr_t asked = std::uintptr_t{1} << (2 * index);
  const std::uintptr_t plain = asked << 1U;
  const std::uintptr_t known = kernel.extra.load(std::memory_order_relaxed);
  if ((known & asked) != 0) return (known & plain) != 0;
  const bool answer = is_plain_value(raw, index);
  kernel.extra.fetch_or(asked | (answer ? plain : 0), std::memory_order_relaxed);
  return answer;
}

}  // namespace

// A value of a handle's size is taken for a handle if it is a live one of ours, unless the driver says that it is a
// plain value.
cl_int CL_API_CALL clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void* value) {
  Object* const kernel = vendor.objects.find(handle);
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  auto* const raw = static_cast<cl_kernel>(objects::raw_of(*kernel));
  void* word = nullptr;
  if (size == sizeof word && value != nullptr) std::memcpy(&word, value, sizeof word);
  Object* const slot = word == nullptr ? nullptr : vendor.objects.slot_at(word);
  if (slot == nullptr || is_plain_value(*kernel, index))
    return vendor.next->clSetKernelArg(raw, index, size, value);
  for (const Kind kind : {Kind::memory, Kind::sampler, Kind::queue}) {
    if (vendor.objects.find(word, kind) == nullptr) continue;
    void* const argument = objects::raw_of(*slot);
    return vendor.next->clSetKernelArg(raw, index, size, &argument);
  }
  return CL_INVALID_MEM_OBJECT;  // of another kind, or released: the driver must not dereference it
}

}  // namespace cleave::vendor
