// Extension functions: finding them, and those that the driver has itself. A test adds others with
// Driver::extension.
#include "tests/sim/driver/core/extensions.h"

#include <string_view>

#include "tests/sim/driver/commands/launch_shape.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/platform/platform.h"
#include "tests/sim/driver/platform/queue.h"

namespace cleave::sim {
namespace extension_functions {

void suggested_local_size(CallFrame&, const Queue& queue, const Kernel& kernel, cl_uint dims,
                          const std::size_t* offset, const std::size_t* global, std::size_t* suggested) {
  require(kernel.program->executable(), CL_INVALID_PROGRAM_EXECUTABLE);
  require(kernel.program->context == queue.context, CL_INVALID_CONTEXT);
  require(suggested != nullptr, CL_INVALID_VALUE);
  const Launch shape = launch_shape(kernel, {dims, offset, global, nullptr}, ReqdWithNull::uses_it);
  for (cl_uint d = 0; d < dims; ++d) suggested[d] = shape.local[d];
}

// cl_khr_icd 2. Loaders ask for every function that they know by its name.
void* function_for_loader(CallFrame& frame, cl_platform_id platform, const char* name) {
  frame.state.get(platform);
  require(name != nullptr, CL_INVALID_VALUE);
  return function_in_table(name);
}

void set_dispatch_data(CallFrame& frame, cl_platform_id platform, void* data) {
  frame.state.get(platform);
  frame.state.set_dispatch_data(data);
}

template <Function function, auto implementation, class Pointer>
void* entry_address() {
  return reinterpret_cast<void*>(&EntryPoint<function, implementation, Pointer>::call);
}

void* icd_v2_extension(std::string_view name) {
  if (name == "clIcdGetFunctionAddressForPlatformKHR") {
    return entry_address<Function::clIcdGetFunctionAddressForPlatformKHR, function_for_loader,
                         void*(CL_API_CALL*)(cl_platform_id, const char*)>();
  }
  if (name == "clIcdSetPlatformDispatchDataKHR") {
    return entry_address<Function::clIcdSetPlatformDispatchDataKHR, set_dispatch_data,
                         cl_int(CL_API_CALL*)(cl_platform_id, void*)>();
  }
  return nullptr;
}

void* builtin_extension(const Options& options, std::string_view name) {
  if (void* const found = options.icd_v2_only ? icd_v2_extension(name) : nullptr) return found;
  if (name == "clIcdGetPlatformIDsKHR") return icd_platform_ids_address();
  if (name == "clCreateCommandQueueWithPropertiesKHR") {
    return entry_address<Function::clCreateCommandQueueWithPropertiesKHR, create_queue_with_properties,
                         clCreateCommandQueueWithPropertiesKHR_fn>();
  }
  if (name == "clGetKernelSuggestedLocalWorkSizeKHR" && options.suggested_local_size) {
    return entry_address<Function::clGetKernelSuggestedLocalWorkSizeKHR, suggested_local_size,
                         clGetKernelSuggestedLocalWorkSizeKHR_fn>();
  }
  return nullptr;
}

void* extension_address(CallFrame& frame, const char* name) {
  require(name != nullptr, CL_INVALID_VALUE);
  const auto& added = frame.state.extensions;
  const auto found = added.find(std::string_view(name));
  return found != added.end() ? found->second : builtin_extension(frame.state.options, name);
}

void* extension_address_for_platform(CallFrame& frame, cl_platform_id platform, const char* name) {
  frame.state.get(platform);
  return extension_address(frame, name);
}

}  // namespace extension_functions

void* icd_platform_ids_address() {
  return extension_functions::entry_address<Function::clIcdGetPlatformIDsKHR, platform_ids,
                                            clIcdGetPlatformIDsKHR_fn>();
}

void extension_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clGetExtensionFunctionAddress, extension_address);
  SIM_IMPLEMENT(clGetExtensionFunctionAddressForPlatform, extension_address_for_platform);
}

}  // namespace cleave::sim
