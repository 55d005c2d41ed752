#include "remote/client/queries.h"

namespace cleave::remote::client {

cl_int ask_server(Connection& connection, wire::What what, Id object, Id device, cl_uint param, cl_uint index,
                  std::span<const std::uint8_t> input, Infos* infos, std::vector<std::byte>& bytes) {
  Pending pending;
  const cl_int error = connection.ask({}, pending, [&](auto& b) {
    flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> given;
    if (!input.empty()) given = b.CreateVector(input.data(), input.size());
    return wire::CreateQuery(b, what, object, device, param, index, given);
  });
  const auto came = bytes_of(pending);
  bytes.assign(came.begin(), came.end());
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
