// The second half of a handshake (front/greeting.h is the first): describes the devices to a client that has been admitted.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "remote/protocol/messages.h"
#include "remote/server/options/options.h"
#include "remote/server/processes/packets.h"
#include "remote/server/session/platforms.h"

namespace cleave::remote::server {

// The description of all devices, made before there is a client.
class DeviceCatalog {
 public:
  DeviceCatalog(const Table& cl, const std::vector<OfferedPlatform>& platforms);

  // The Welcome, with the features that both sides know, and the name of the session in the trace (empty: there is none). To be
  // called once.
  std::span<const std::byte> welcome(const Options& options, const ClientLimits& limits,
                                     const Assignment& assignment, std::uint64_t features,
                                     const std::string& session);
  [[nodiscard]] bool empty() const { return platforms_.empty(); }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<wire::Platform>> platforms_;
};

}  // namespace cleave::remote::server
