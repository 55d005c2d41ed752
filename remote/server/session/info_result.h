// Results of the clGet...Info functions, and their form in the protocol (messages.fbs: Info).
//
// Thread-safe: plain functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/opencl.h"
#include "opencl/info.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::server {

struct InfoResult {
  cl_int error = CL_SUCCESS;
  std::vector<std::uint8_t> bytes;
};

// Bytes. Program binaries, which may be longer, are transferred as payloads.
inline constexpr std::size_t kMaxInfoSize = 2U << 20U;

// `ask(size, pointer, size_ret)` is one of the clGet...Info functions with its other parameters bound.
template <typename Ask>
InfoResult query_info(Ask ask) {
  InfoResult result;
  std::size_t size = 0;
  result.error = ask(std::size_t{0}, static_cast<void*>(nullptr), &size);
  if (result.error != CL_SUCCESS) return result;
  if (size > kMaxInfoSize) return {CL_OUT_OF_RESOURCES, {}};
  result.bytes.resize(size);
  if (size > 0) result.error = ask(size, static_cast<void*>(result.bytes.data()), nullptr);
  if (result.error != CL_SUCCESS) result.bytes.clear();
  return result;
}

// Bytes of one element of an image; 0: the driver does not say, or it is no image.
inline std::size_t image_element_size(const Table& cl, cl_mem image) {
  return opencl::info<std::size_t>(cl.clGetImageInfo, image, CL_IMAGE_ELEMENT_SIZE);
}

using Infos = std::vector<flatbuffers::Offset<wire::Info>>;

inline void add_info(flatbuffers::FlatBufferBuilder& builder, Infos& infos, wire::InfoSubject what,
                     std::uint32_t param, const InfoResult& result, std::uint32_t index = 0,
                     std::uint64_t device = 0) {
  const auto bytes = builder.CreateVector(result.bytes);
  infos.push_back(wire::CreateInfo(builder, what, param, index, device, result.error, bytes));
}

}  // namespace cleave::remote::server
