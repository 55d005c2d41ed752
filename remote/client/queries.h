// Answers of the server to queries, and where they are kept.
#pragma once

#include <cstring>
#include <span>
#include <string>

#include "remote/client/bodies.h"
#include "remote/client/connection.h"
#include "remote/client/info.h"
#include "remote/client/wire_types.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

template <typename Vector>
std::span<const std::byte> bytes_in(const Vector* bytes) {
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()};
}

// What an answer has brought, if it is bytes.
inline std::span<const std::byte> bytes_of(const Pending& pending) {
  return pending.details() == nullptr ? std::span<const std::byte>{} : bytes_in(pending.details()->bytes());
}

// The bytes as programs may read them: a text ends with a zero, whatever the server has left out.
std::vector<std::byte> readable(wire::What what, cl_uint param, std::span<const std::byte> bytes);

template <typename List>
void keep_infos(Infos& infos, const List* list) {
  if (list == nullptr) return;
  for (const wire::Info* const info : *list) {
    infos.put({static_cast<cl_uint>(info->what()), info->param(), info->index(), info->device()},
              {error_of(info->error()), readable(info->what(), info->param(), bytes_in(info->bytes()))});
  }
}

inline Infos::Key key_of(wire::What what, cl_uint param, cl_uint index = 0, Id device = 0) {
  return {static_cast<cl_uint>(what), param, index, device};
}

// A value that is known to be there; `otherwise` where it is not.
template <typename T>
T known(const Infos& infos, const Infos::Key& key, T otherwise) {
  const Infos::Info* const info = infos.find(key);
  if (info == nullptr || info->error != CL_SUCCESS || info->bytes.size() < sizeof(T)) return otherwise;
  std::memcpy(&otherwise, info->bytes.data(), sizeof(T));
  return otherwise;
}

inline std::string known_text(const Infos& infos, const Infos::Key& key) {
  const Infos::Info* const info = infos.find(key);
  if (info == nullptr || info->bytes.empty()) return {};
  const auto* const text = reinterpret_cast<const char*>(info->bytes.data());
  return {text, strnlen(text, info->bytes.size())};
}

template <typename T>
std::vector<T> known_list(const Infos& infos, const Infos::Key& key) {
  const Infos::Info* const info = infos.find(key);
  std::vector<T> list(info == nullptr ? 0 : info->bytes.size() / sizeof(T));
  if (!list.empty()) std::memcpy(list.data(), info->bytes.data(), list.size() * sizeof(T));
  return list;
}

// Asks the server. The answer is kept in `infos` unless that is null.
cl_int ask_server(Connection& connection, wire::What what, Id object, Id device, cl_uint param, cl_uint index,
                  std::span<const std::uint8_t> input, Infos* infos, std::vector<std::byte>& bytes);

// Answers from `infos`, or from the server.
cl_int answer_from(Connection& connection, Infos& infos, wire::What what, Id object, Id device, cl_uint param,
                   cl_uint index, const Answer& answer);

}  // namespace cleave::remote::client
