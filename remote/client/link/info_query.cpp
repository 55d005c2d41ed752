#include "remote/client/link/info_query.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cleave::remote::client {
namespace {

using wire::InfoSubject;

constexpr std::array kStrings = std::to_array<std::pair<InfoSubject, cl_uint>>({
    {InfoSubject::device, CL_DEVICE_NAME},
    {InfoSubject::device, CL_DEVICE_VENDOR},
    {InfoSubject::device, CL_DRIVER_VERSION},
    {InfoSubject::device, CL_DEVICE_PROFILE},
    {InfoSubject::device, CL_DEVICE_VERSION},
    {InfoSubject::device, CL_DEVICE_OPENCL_C_VERSION},
    {InfoSubject::device, CL_DEVICE_EXTENSIONS},
    {InfoSubject::device, CL_DEVICE_BUILT_IN_KERNELS},
    {InfoSubject::device, CL_DEVICE_IL_VERSION},
    {InfoSubject::device, CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED},
    {InfoSubject::program, CL_PROGRAM_KERNEL_NAMES},
    {InfoSubject::program_build, CL_PROGRAM_BUILD_OPTIONS},
    {InfoSubject::program_build, CL_PROGRAM_BUILD_LOG},
    {InfoSubject::kernel, CL_KERNEL_FUNCTION_NAME},
    {InfoSubject::kernel, CL_KERNEL_ATTRIBUTES},
    {InfoSubject::kernel_argument, CL_KERNEL_ARG_TYPE_NAME},
    {InfoSubject::kernel_argument, CL_KERNEL_ARG_NAME},
});

}  // namespace

std::vector<std::byte> null_terminated(InfoSubject what, cl_uint param, std::span<const std::byte> bytes) {
  std::vector<std::byte> all(bytes.begin(), bytes.end());
  const bool is_string =
      std::find(kStrings.begin(), kStrings.end(), std::pair(what, param)) != kStrings.end();
  if (is_string && !all.empty() && all.back() != std::byte{0}) all.push_back(std::byte{0});
  return all;
}

cl_int query_server(Connection& connection, const ServerQuery& query, std::vector<std::byte>& bytes,
                    InfoCache* cache) {
  PendingRequest pending;
  const cl_int error = connection.call({}, pending, [&](auto& b) {
    flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> input;
    if (!query.input.empty()) input = b.CreateVector(query.input.data(), query.input.size());
    return wire::CreateQuery(b, query.what, query.object, query.device, query.param, query.index, input);
  });
  bytes = null_terminated(query.what, query.param, bytes_of(pending));
  if (cache != nullptr && connection.alive())
    cache->put(info_key(query.what, query.param, query.index, query.device), {error, bytes});
  return error;
}

cl_int query_into(Connection& connection, const ServerQuery& query, const InfoOutput& output) {
  std::vector<std::byte> bytes;
  const cl_int error = query_server(connection, query, bytes);
  return error != CL_SUCCESS ? error : output.write_list(bytes);
}

cl_int cached_or_queried(Connection& connection, InfoCache& cache, const ServerQuery& query,
                         const InfoOutput& output) {
  const auto key = info_key(query.what, query.param, query.index, query.device);
  if (const InfoCache::Info* const info = cache.find(key))
    return info->error != CL_SUCCESS ? info->error : output.write_list(info->bytes);
  std::vector<std::byte> bytes;
  const cl_int error = query_server(connection, query, bytes, &cache);
  return error != CL_SUCCESS ? error : output.write_list(bytes);
}

}  // namespace cleave::remote::client
