// Info queries: from the server, or from its earlier answers.
//
// Thread-safe. Functions that query the server wait for the answer, and return kConnectionLost if the connection ends
// meanwhile.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "remote/client/link/connection.h"
#include "remote/client/link/wire_types.h"
#include "remote/client/objects/info_output.h"
#include "remote/client/objects/object_state.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

// The subject of a query: a parameter of an object, for one of its devices or its index-th part where that matters.
struct ServerQuery {
  wire::InfoSubject what;
  Id object;
  cl_uint param = 0;
  Id device = 0;
  cl_uint index = 0;
  std::span<const std::uint8_t> input = {};
};

inline InfoCache::Key info_key(wire::InfoSubject what, cl_uint param, cl_uint index = 0, Id device = 0) {
  return {static_cast<cl_uint>(what), param, index, device};
}

template <typename Vector>
std::span<const std::byte> bytes_of_vector(const Vector* bytes) {
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()};
}

// The bytes of an answer, or none.
inline std::span<const std::byte> bytes_of(const PendingRequest& pending) {
  return pending.answer() == nullptr ? std::span<const std::byte>{}
                                     : bytes_of_vector(pending.answer()->bytes());
}

// The bytes as programs may read them: strings end with a zero even if the server left it out.
std::vector<std::byte> null_terminated(wire::InfoSubject what, cl_uint param,
                                       std::span<const std::byte> bytes);

template <typename List>
void cache_infos(InfoCache& infos, const List* list) {
  if (list == nullptr) return;
  for (const wire::Info* const info : *list) {
    infos.put(info_key(info->what(), info->param(), info->index(), info->device()),
              {driver_error(info->error()),
               null_terminated(info->what(), info->param(), bytes_of_vector(info->bytes()))});
  }
}

// A cached value, or `otherwise`.
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

// Queries the server. The answer is kept in `cache` if there is one.
cl_int query_server(Connection& connection, const ServerQuery& query, std::vector<std::byte>& bytes,
                    InfoCache* cache = nullptr);

// Queries the server and writes the answer to the program's memory.
cl_int query_into(Connection& connection, const ServerQuery& query, const InfoOutput& output);

// The same, but answers from `cache` if it can, and keeps the answer there.
cl_int cached_or_queried(Connection& connection, InfoCache& cache, const ServerQuery& query,
                         const InfoOutput& output);

}  // namespace cleave::remote::client
