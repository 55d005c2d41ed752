// Answers of the server to queries, and where they are kept.
#pragma once

#include <cstring>
#include <span>
#include <string>

#include "remote/client/link/connection.h"
#include "remote/client/link/wire_types.h"
#include "remote/client/objects/info_output.h"
#include "remote/client/objects/object_state.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

template <typename Vector>
std::span<const std::byte> bytes_of_vector(const Vector* bytes) {
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()};
}

// What an answer has brought, if it is bytes.
inline std::span<const std::byte> bytes_of(const PendingRequest& pending) {
  return pending.answer() == nullptr ? std::span<const std::byte>{}
                                     : bytes_of_vector(pending.answer()->bytes());
}

// The bytes as programs may read them: a text ends with a zero, whatever the server has left out.
std::vector<std::byte> null_terminated(wire::InfoSubject what, cl_uint param,
                                       std::span<const std::byte> bytes);

template <typename List>
void cache_infos(InfoCache& infos, const List* list) {
  if (list == nullptr) return;
  for (const wire::Info* const info : *list) {
    infos.put({static_cast<cl_uint>(info->what()), info->param(), info->index(), info->device()},
              {driver_error(info->error()),
               null_terminated(info->what(), info->param(), bytes_of_vector(info->bytes()))});
  }
}

inline InfoCache::Key info_key(wire::InfoSubject what, cl_uint param, cl_uint index = 0, Id device = 0) {
  return {static_cast<cl_uint>(what), param, index, device};
}

// A value that is known to be there; `otherwise` where it is not.
template <typename T>
T cached(const InfoCache& infos, const InfoCache::Key& key, T otherwise) {
  const InfoCache::Info* const info = infos.find(key);
  if (info == nullptr || info->error != CL_SUCCESS || info->bytes.size() < sizeof(T)) return otherwise;
  std::memcpy(&otherwise, info->bytes.data(), sizeof(T));
  return otherwise;
}

inline std::string cached_string(const InfoCache& infos, const InfoCache::Key& key) {
  const InfoCache::Info* const info = infos.find(key);
  if (info == nullptr || info->bytes.empty()) return {};
  const auto* const text = reinterpret_cast<const char*>(info->bytes.data());
  return {text, strnlen(text, info->bytes.size())};
}

template <typename T>
std::vector<T> cached_list(const InfoCache& infos, const InfoCache::Key& key) {
  const InfoCache::Info* const info = infos.find(key);
  std::vector<T> list(info == nullptr ? 0 : info->bytes.size() / sizeof(T));
  if (!list.empty()) std::memcpy(list.data(), info->bytes.data(), list.size() * sizeof(T));
  return list;
}

// Asks the server. The answer is kept in `infos` unless that is null.
cl_int query_server(Connection& connection, wire::InfoSubject what, Id object, Id device, cl_uint param,
                    cl_uint index, std::span<const std::uint8_t> input, InfoCache* infos,
                    std::vector<std::byte>& bytes);

// Answers from `infos`, or from the server.
cl_int cached_or_queried(Connection& connection, InfoCache& infos, wire::InfoSubject what, Id object,
                         Id device, cl_uint param, cl_uint index, const InfoOutput& output);

}  // namespace cleave::remote::client
