// What the clGet...Info functions that take an object and a parameter answer, as values and lists.
//
// Thread-safe as the functions are. The lists may throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "base/opencl.h"

namespace cleave::opencl {

template <typename Object, typename Parameter>
using InfoFunction = cl_int(CL_API_CALL*)(Object, Parameter, std::size_t, void*, std::size_t*);

// Value{} if the function fails.
template <typename Value, typename Object, typename Parameter>
Value info(InfoFunction<Object, Parameter> function, std::type_identity_t<Object> object,
           std::type_identity_t<Parameter> parameter) {
  Value value{};
  const cl_int error = function(object, parameter, sizeof value, static_cast<void*>(&value), nullptr);
  return error == CL_SUCCESS ? value : Value{};
}

// Empty if the function fails; then `error` says how.
template <typename Value, typename Object, typename Parameter>
std::vector<Value> info_list(InfoFunction<Object, Parameter> function, std::type_identity_t<Object> object,
                             std::type_identity_t<Parameter> parameter, cl_int& error) {
  std::size_t size = 0;
  error = function(object, parameter, 0, nullptr, &size);
  std::vector<Value> list(error == CL_SUCCESS ? size / sizeof(Value) : 0);
  if (!list.empty()) error = function(object, parameter, size, static_cast<void*>(list.data()), nullptr);
  if (error != CL_SUCCESS) list.clear();
  return list;
}
template <typename Value, typename Object, typename Parameter>
std::vector<Value> info_list(InfoFunction<Object, Parameter> function, std::type_identity_t<Object> object,
                             std::type_identity_t<Parameter> parameter) {
  cl_int error = CL_SUCCESS;
  return info_list<Value>(function, object, parameter, error);
}

}  // namespace cleave::opencl
