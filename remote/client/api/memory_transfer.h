// Commands that read or write a region of a memory object, for both buffers and images.
#pragma once

#include "remote/client/api/regions.h"
#include "remote/client/link/wire_types.h"

namespace cleave::remote::client {

// Returns send(make), where make(builder) is the body of a command that reads the region (as in Mapping) from the server.
template <typename Send>
cl_int with_read(const MemoryState& memory, const size_t* origin, const size_t* region, Send send) {
  if (!is_image(memory))
    return send([&](auto& b) { return wire::CreateReadBuffer(b, memory.id, origin[0], region[0]); });
  return send([&](auto& b) {
    const WireRegion part(origin, region);
    return wire::CreateReadImage(b, memory.id, &part.origin, &part.extent);
  });
}

// The same for a command that writes it.
template <typename Send>
cl_int with_write(const MemoryState& memory, const size_t* origin, const size_t* region, Send send) {
  if (!is_image(memory))
    return send([&](auto& b) { return wire::CreateWriteBuffer(b, memory.id, origin[0], region[0]); });
  return send([&](auto& b) {
    const WireRegion part(origin, region);
    return wire::CreateWriteImage(b, memory.id, &part.origin, &part.extent);
  });
}

}  // namespace cleave::remote::client
