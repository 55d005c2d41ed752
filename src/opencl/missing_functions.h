// What a function answers that is not there: no loader was found, or it is older than the function. The
// answer is an error that OpenCL allows, never a jump to nothing.
//
// Thread-safe: nothing is kept.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "base/opencl.h"

namespace cleave::opencl {

// As the Khronos loader answers clGetPlatformIDs where there are no platforms (cl_khr_icd).
inline constexpr cl_int kPlatformNotFound = -1001;  // CL_PLATFORM_NOT_FOUND_KHR

template <typename Function>
struct MissingFunction;

template <typename Result, typename... Parameters>
struct MissingFunction<Result(CL_API_CALL*)(Parameters...)> {
  static Result CL_API_CALL call(Parameters... parameters) noexcept {
    if constexpr (std::is_same_v<Result, cl_int>) {
      return kPlatformNotFound;
    } else if constexpr (std::is_pointer_v<Result>) {
      if constexpr (ends_in_error_pointer()) {
        cl_int* const error = std::get<sizeof...(Parameters) - 1>(std::tie(parameters...));
        if (error != nullptr) *error = CL_INVALID_OPERATION;
      }
      return nullptr;
    } else {
      static_assert(std::is_void_v<Result>);
    }
  }

 private:
  static constexpr bool ends_in_error_pointer() {
    if constexpr (sizeof...(Parameters) == 0) {
      return false;
    } else {
      return std::is_same_v<std::tuple_element_t<sizeof...(Parameters) - 1, std::tuple<Parameters...>>,
                            cl_int*>;
    }
  }
};

// Puts such an answer into every entry of `table` that is null.
inline void fill_missing_functions(Table& table) {
#define CL_FUNCTION(version, result, name, parameters, arguments) \
  if (table.name == nullptr) table.name = MissingFunction<decltype(table.name)>::call;
#include "opencl/functions.def"
#undef CL_FUNCTION
}

}  // namespace cleave::opencl
