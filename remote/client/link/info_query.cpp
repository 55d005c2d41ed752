#include "remote/client/link/info_query.h"

namespace cleave::remote::client {
namespace {

bool is_text(wire::InfoSubject what, cl_uint param) {
  switch (what) {
    case wire::InfoSubject::device:
      return param == CL_DEVICE_NAME || param == CL_DEVICE_VENDOR || param == CL_DRIVER_VERSION ||
             param == CL_DEVICE_PROFILE || param == CL_DEVICE_VERSION ||
             param == CL_DEVICE_OPENCL_C_VERSION || param == CL_DEVICE_EXTENSIONS ||
             param == CL_DEVICE_BUILT_IN_KERNELS || param == CL_DEVICE_IL_VERSION ||
             param == CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED;
    case wire::InfoSubject::program:
      return param == CL_PROGRAM_KERNEL_NAMES;
    case wire::InfoSubject::program_build:
      return param == CL_PROGRAM_BUILD_OPTIONS || param == CL_PROGRAM_BUILD_LOG;
    case wire::InfoSubject::kernel:
      return param == CL_KERNEL_FUNCTION_NAME || param == CL_KERNEL_ATTRIBUTES;
    case wire::InfoSubject::kernel_argument:
      return param == CL_KERNEL_ARG_TYPE_NAME || param == CL_KERNEL_ARG_NAME;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::byte> null_terminated(wire::InfoSubject what, cl_uint param,
                                       std::span<const std::byte> bytes) {
  std::vector<std::byte> all(bytes.begin(), bytes.end());
  if (is_text(what, param) && !all.empty() && all.back() != std::byte{0}) all.push_back(std::byte{0});
  return all;
}

cl_int query_server(Connection& connection, wire::InfoSubject what, Id object, Id device, cl_uint param,
                    cl_uint index, std::span<const std::uint8_t> input, InfoCache* infos,
                    std::vector<std::byte>& bytes) {
  PendingRequest pending;
  const cl_int error = connection.call({}, pending, [&](auto& b) {
    flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> given;
    if (!input.empty()) given = b.CreateVector(input.data(), input.size());
    return wire::CreateQuery(b, what, object, device, param, index, given);
  });
  bytes = null_terminated(what, param, bytes_of(pending));
  if (infos != nullptr && connection.alive())
    infos->put(info_key(what, param, index, device), {error, bytes});
  return error;
}

cl_int cached_or_queried(Connection& connection, InfoCache& infos, wire::InfoSubject what, Id object,
                         Id device, cl_uint param, cl_uint index, const InfoOutput& output) {
  if (const InfoCache::Info* const info = infos.find(info_key(what, param, index, device))) {
    return info->error != CL_SUCCESS ? info->error : output.write_list(info->bytes);
  }
  std::vector<std::byte> bytes;
  const cl_int error = query_server(connection, what, object, device, param, index, {}, &infos, bytes);
  return error != CL_SUCCESS ? error : output.write_list(bytes);
}

}  // namespace cleave::remote::client
