#include "remote/client/queries.h"

namespace cleave::remote::client {
namespace {

bool is_text(wire::What what, cl_uint param) {
  switch (what) {
    case wire::What::device:
      return param == CL_DEVICE_NAME || param == CL_DEVICE_VENDOR || param == CL_DRIVER_VERSION ||
             param == CL_DEVICE_PROFILE || param == CL_DEVICE_VERSION ||
             param == CL_DEVICE_OPENCL_C_VERSION || param == CL_DEVICE_EXTENSIONS ||
             param == CL_DEVICE_BUILT_IN_KERNELS || param == CL_DEVICE_IL_VERSION ||
             param == CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED;
    case wire::What::program:
      return param == CL_PROGRAM_KERNEL_NAMES;
    case wire::What::program_build:
      return param == CL_PROGRAM_BUILD_OPTIONS || param == CL_PROGRAM_BUILD_LOG;
    case wire::What::kernel:
      return param == CL_KERNEL_FUNCTION_NAME || param == CL_KERNEL_ATTRIBUTES;
    case wire::What::kernel_argument:
      return param == CL_KERNEL_ARG_TYPE_NAME || param == CL_KERNEL_ARG_NAME;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::byte> readable(wire::What what, cl_uint param, std::span<const std::byte> bytes) {
  std::vector<std::byte> all(bytes.begin(), bytes.end());
  if (is_text(what, param) && !all.empty() && all.back() != std::byte{0}) all.push_back(std::byte{0});
  return all;
}

cl_int ask_server(Connection& connection, wire::What what, Id object, Id device, cl_uint param, cl_uint index,
                  std::span<const std::uint8_t> input, Infos* infos, std::vector<std::byte>& bytes) {
  Pending pending;
  const cl_int error = connection.ask({}, pending, [&](auto& b) {
    flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> given;
    if (!input.empty()) given = b.CreateVector(input.data(), input.size());
    return wire::CreateQuery(b, what, object, device, param, index, given);
  });
  bytes = readable(what, param, bytes_of(pending));
  if (infos != nullptr && connection.alive()) infos->put(key_of(what, param, index, device), {error, bytes});
  return error;
}

cl_int answer_from(Connection& connection, Infos& infos, wire::What what, Id object, Id device, cl_uint param,
                   cl_uint index, const Answer& answer) {
  if (const Infos::Info* const info = infos.find(key_of(what, param, index, device))) {
    return info->error != CL_SUCCESS ? info->error : answer.give_list(info->bytes);
  }
  std::vector<std::byte> bytes;
  const cl_int error = ask_server(connection, what, object, device, param, index, {}, &infos, bytes);
  return error != CL_SUCCESS ? error : answer.give_list(bytes);
}

}  // namespace cleave::remote::client
