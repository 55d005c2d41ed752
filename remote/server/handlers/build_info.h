// What a driver says of a program's build.
#pragma once

#include <string>
#include <string_view>

#include "remote/server/builds/source_folder.h"
#include "remote/server/session/info_result.h"

namespace cleave::remote::server {

// As clGetProgramBuildInfo; logs come without the paths of the server's source folders.
inline InfoResult build_info(const Table& cl, cl_program program, cl_device_id device,
                             cl_program_build_info param) {
  if (program == nullptr) return {CL_INVALID_PROGRAM, {}};
  InfoResult result =
      query_info([&](auto... rest) { return cl.clGetProgramBuildInfo(program, device, param, rest...); });
  if (param != CL_PROGRAM_BUILD_LOG || result.bytes.empty()) return result;
  const std::string_view log(reinterpret_cast<const char*>(result.bytes.data()), result.bytes.size() - 1);
  const std::string text = strip_source_folders(log);
  result.bytes.assign(text.c_str(), text.c_str() + text.size() + 1);
  return result;
}

}  // namespace cleave::remote::server
