// Writing results of clGet...Info calls to the program's memory, as OpenCL defines it: the value if there is room for it,
// and its size.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/opencl.h"

namespace cleave::remote::client {

// The last three parameters of a clGet...Info call. Functions return CL_INVALID_VALUE if the value does not fit.
struct InfoOutput {
  size_t size;
  void* value;
  size_t* size_ret;

  cl_int write_bytes(const void* data, size_t bytes) const {
    if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
    if (value != nullptr && data != nullptr && bytes != 0) std::memcpy(value, data, bytes);
    if (size_ret != nullptr) *size_ret = bytes;
    return CL_SUCCESS;
  }

  template <typename T>
  cl_int write(const T& written) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return write_bytes(&written, sizeof written);
  }

  template <typename T>
  cl_int write_list(const std::vector<T>& list) const {
    return write_bytes(list.data(), list.size() * sizeof(T));
  }

  cl_int write_string(std::string_view text) const {
    if (value != nullptr && size < text.size() + 1) return CL_INVALID_VALUE;
    if (value != nullptr) {
      std::memcpy(value, text.data(), text.size());
      static_cast<char*>(value)[text.size()] = '\0';
    }
    if (size_ret != nullptr) *size_ret = text.size() + 1;
    return CL_SUCCESS;
  }
};

// The result of a creating call that has failed.
template <typename T>
T fail(cl_int* error_ret, cl_int error) {
  if (error_ret != nullptr) *error_ret = error;
  return T{};
}

}  // namespace cleave::remote::client
