// The platforms and devices that this server offers, and all that can be asked about them.
//
// Not thread-safe: made once, before there is a client.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/opencl.h"
#include "remote/protocol/messages.h"
#include "remote/server/session/object_table.h"

namespace cleave::remote::server {

struct OfferedDevice {
  std::uint64_t id = 0;
  cl_device_id handle = nullptr;
};

struct OfferedPlatform {
  std::uint64_t id = 0;
  cl_platform_id handle = nullptr;
  std::vector<OfferedDevice> devices;
};

// The devices whose name matches one of the shell patterns, all where there are none; platforms without such
// a device are left out.
std::vector<OfferedPlatform> find_platforms(const Table& cl, const std::vector<std::string>& patterns);

// Enters them, so that the client may use them.
void enter(const std::vector<OfferedPlatform>& platforms, ObjectTable& objects);

flatbuffers::Offset<wire::Platform> describe(const Table& cl, flatbuffers::FlatBufferBuilder& builder,
                                             const OfferedPlatform& platform);
flatbuffers::Offset<wire::Device> describe(const Table& cl, flatbuffers::FlatBufferBuilder& builder,
                                           const OfferedDevice& device);

}  // namespace cleave::remote::server
