// What a driver says of a program's build, and the server of one that it has refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "opencl/info.h"
#include "remote/server/builds/source_folder.h"
#include "remote/server/session/info_result.h"
#include "remote/server/session/program_state.h"

namespace cleave::remote::server {

inline InfoResult text_result(std::string_view text) {
  InfoResult result;
  result.bytes.assign(text.begin(), text.end());
  result.bytes.push_back(0);
  return result;
}

template <typename Number>
InfoResult number_result(Number number) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&number);
  return {CL_SUCCESS, {bytes, bytes + sizeof number}};
}

// The devices that a program is built for if none are named.
inline std::vector<cl_device_id> devices_of_program(const Table& cl, cl_program program) {
  return opencl::info_list<cl_device_id>(cl.clGetProgramInfo, program, CL_PROGRAM_DEVICES);
}
inline std::vector<cl_device_id> devices_of_context(const Table& cl, cl_context context) {
  return opencl::info_list<cl_device_id>(cl.clGetContextInfo, context, CL_CONTEXT_DEVICES);
}

// One for each of the program's devices. The driver writes them through pointers of the caller's.
inline std::vector<std::string> binaries_of(const Table& cl, cl_program program, cl_int& error) {
  std::vector<std::string> binaries;
  std::vector<char*> places;
  for (const std::size_t size :
       opencl::info_list<std::size_t>(cl.clGetProgramInfo, program, CL_PROGRAM_BINARY_SIZES, error))
    binaries.emplace_back(size, '\0');
  places.reserve(binaries.size());
  for (std::string& binary : binaries) places.push_back(binary.empty() ? nullptr : binary.data());
  if (error == CL_SUCCESS) {
    error = cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, places.size() * sizeof(char*),
                                static_cast<void*>(places.data()), nullptr);
  }
  return binaries;
}

// As clGetProgramBuildInfo; logs come without the paths of the server's source folders.
inline InfoResult build_info(const Table& cl, cl_program program, const ProgramState* state,
                             cl_device_id device, cl_program_build_info param) {
  if (program == nullptr) return {CL_INVALID_PROGRAM, {}};
  const auto refused = state != nullptr ? state->refused_build(device) : std::nullopt;
  if (refused && param == CL_PROGRAM_BUILD_STATUS) return number_result<cl_build_status>(CL_BUILD_ERROR);
  if (refused && param == CL_PROGRAM_BINARY_TYPE)
    return number_result<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_NONE);
  if (refused && param == CL_PROGRAM_BUILD_OPTIONS) return text_result(refused->options);
  if (refused && param == CL_PROGRAM_BUILD_LOG) return text_result(refused->log);
  InfoResult result =
      query_info([&](auto... rest) { return cl.clGetProgramBuildInfo(program, device, param, rest...); });
  if (param != CL_PROGRAM_BUILD_LOG || result.bytes.empty()) return result;
  const std::string_view log(reinterpret_cast<const char*>(result.bytes.data()), result.bytes.size() - 1);
  return text_result(strip_source_folders(log).c_str());
}

// Whether the latest builds for all of the program's devices have been refused: then it has no kernels.
inline bool is_refused(const Table& cl, cl_program program, const ProgramState& state) {
  const std::size_t refused = state.refused_count();
  if (refused == 0) return false;
  return refused >= opencl::info<cl_uint>(cl.clGetProgramInfo, program, CL_PROGRAM_NUM_DEVICES);
}

// As clGetProgramInfo.
inline InfoResult program_info(const Table& cl, cl_program program, const ProgramState* state,
                               cl_program_info param) {
  if (program == nullptr) return {CL_INVALID_PROGRAM, {}};
  const bool is_of_kernels = param == CL_PROGRAM_NUM_KERNELS || param == CL_PROGRAM_KERNEL_NAMES;
  if (is_of_kernels && state != nullptr && is_refused(cl, program, *state))
    return {CL_INVALID_PROGRAM_EXECUTABLE, {}};
  return query_info([&](auto... rest) { return cl.clGetProgramInfo(program, param, rest...); });
}

}  // namespace cleave::remote::server
