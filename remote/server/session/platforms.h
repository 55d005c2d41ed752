// The platforms and devices that the server offers, and their descriptions.
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

// The devices whose names match one of the shell patterns (without patterns: all), by platform. Platforms without such a
// device are left out.
std::vector<OfferedPlatform> find_platforms(const Table& cl, const std::vector<std::string>& patterns);

// What all of them have together, in bytes.
std::uint64_t memory_of(const Table& cl, const std::vector<OfferedPlatform>& platforms);

// A line for each device, which begins with `prefix`.
std::string list_devices(const Table& cl, const std::string& prefix);

// Registers them, so that the client can use them.
void register_platforms(const std::vector<OfferedPlatform>& platforms, ObjectTable& objects);

flatbuffers::Offset<wire::Platform> describe(const Table& cl, flatbuffers::FlatBufferBuilder& builder,
                                             const OfferedPlatform& platform);
flatbuffers::Offset<wire::Device> describe(const Table& cl, flatbuffers::FlatBufferBuilder& builder,
                                           const OfferedDevice& device);

}  // namespace cleave::remote::server
