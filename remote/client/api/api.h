// Declarations of all functions of OpenCL, from the one list of them: a function that is not defined does not link. Each is
// defined in the file of its topic; what cannot be forwarded to a server is in unsupported.cpp.
//
// Thread-safe as OpenCL demands of each function.
#pragma once

#include <vector>

#include "base/opencl.h"
#include "objects/object.h"
#include "opencl/function_traits.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {

#define CL_FUNCTION(version, name, ...) opencl::Declared<&Table::name> name;
#include "opencl/functions.def"
#undef CL_FUNCTION

// Of cl_khr_icd.
cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id platform, void* data);

// clGetKernelSuggestedLocalWorkSizeKHR.
cl_int CL_API_CALL get_suggested_local_size(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                            const size_t* offset, const size_t* global, size_t* suggested);

// A list of pairs as the program gave it, with the terminating zero; of one that does not end, the first pairs. Empty for null,
// which some drivers distinguish from an empty list.
template <typename Property>
std::vector<Property> property_list(const Property* given) {
  constexpr std::size_t kMostPairs = 64;
  std::vector<Property> list;
  if (given == nullptr) return list;
  for (std::size_t i = 0; *given != 0 && i < kMostPairs; ++i, given += 2)
    list.insert(list.end(), given, given + 2);
  list.push_back(0);
  return list;
}

// Such a list as a message has it: without the zero; missing for null.
template <typename Builder, typename Property>
auto wire_list(Builder& b, const std::vector<Property>& list) {
  return list.empty() ? 0 : b.CreateVector(list.data(), list.size() - 1);
}

// The program's own references, as CL_..._REFERENCE_COUNT reports them. Requires: a valid handle.
template <typename Handle>
cl_uint references(Handle handle) {
  const Object& object = object_of(handle);
  if (object.root) return 1;
  return static_cast<cl_uint>(objects::references_of(object.counts.load(std::memory_order_relaxed)));
}

}  // namespace cleave::remote::client
