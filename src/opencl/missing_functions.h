// What a missing function returns: no loader was found, or it is older than the function, or what the
// function is for is not available. The result is an error that OpenCL allows, never a jump to a null pointer.
//
// Thread-safe: without state.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "base/opencl.h"

namespace cleave::opencl {

// CL_PLATFORM_NOT_FOUND_KHR, which the Khronos loader's clGetPlatformIDs answers where there are no platforms
// (cl_khr_icd).
inline constexpr cl_int kPlatformNotFound = -1001;

// What a call that fails with this error returns: the error, or null and the error where the last parameter points.
template <typename Result, typename... Parameters>
Result failed(cl_int error, Parameters... parameters) noexcept {
  if constexpr (std::is_same_v<Result, cl_int>) {
    return error;
  } else if constexpr (std::is_pointer_v<Result>) {
    constexpr std::size_t kCount = sizeof...(Parameters);
    if constexpr (kCount > 0) {
      if constexpr (std::is_same_v<std::tuple_element_t<kCount - 1, std::tuple<Parameters...>>, cl_int*>) {
        cl_int* const into = std::get<kCount - 1>(std::tie(parameters...));
        if (into != nullptr) *into = error;
      }
    }
    return nullptr;
  } else {
    static_assert(std::is_void_v<Result>);
  }
}

// `kError` is the result of functions that return an error code. The others set theirs to CL_INVALID_OPERATION.
template <typename Function, cl_int kError = kPlatformNotFound>
struct MissingFunction;

template <typename Result, typename... Parameters, cl_int kError>
struct MissingFunction<Result(CL_API_CALL*)(Parameters...), kError> {
  static Result CL_API_CALL call(Parameters... parameters) noexcept {
    return failed<Result>(std::is_same_v<Result, cl_int> ? kError : CL_INVALID_OPERATION, parameters...);
  }
};

// Puts such a function into every entry of `table` that is null.
inline void fill_missing_functions(Table& table) {
#define CL_FUNCTION(version, name, ...) \
  if (table.name == nullptr) table.name = MissingFunction<decltype(table.name)>::call;
#include "opencl/functions.def"
#undef CL_FUNCTION
}

}  // namespace cleave::opencl
