// Asking the driver, and its answers as the protocol's `Info`.
//
// Thread-safe: plain functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/opencl.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::server {

struct Told {
  cl_int error = CL_SUCCESS;
  std::vector<std::uint8_t> bytes;
};

// No single answer is longer than this; program binaries have a way of their own.
inline constexpr std::size_t kMostTold = 2U << 20U;

// `ask(size, pointer, size_ret)` is one of the clGet...Info functions with its other parameters bound.
template <typename Ask>
Told told_by(Ask ask) {
  Told told;
  std::size_t size = 0;
  told.error = ask(std::size_t{0}, static_cast<void*>(nullptr), &size);
  if (told.error != CL_SUCCESS) return told;
  if (size > kMostTold) return {CL_OUT_OF_RESOURCES, {}};
  told.bytes.resize(size);
  if (size > 0) told.error = ask(size, static_cast<void*>(told.bytes.data()), nullptr);
  if (told.error != CL_SUCCESS) told.bytes.clear();
  return told;
}

using Infos = std::vector<flatbuffers::Offset<wire::Info>>;

inline void add_info(flatbuffers::FlatBufferBuilder& builder, Infos& infos, wire::What what,
                     std::uint32_t param, const Told& told, std::uint32_t index = 0,
                     std::uint64_t device = 0) {
  const auto bytes = builder.CreateVector(told.bytes);
  infos.push_back(wire::CreateInfo(builder, what, param, index, device, told.error, bytes));
}

}  // namespace cleave::remote::server
