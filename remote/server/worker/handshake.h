// The handshake of a connection: authenticates the client, and describes the devices to it.
//
// Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "remote/protocol/messages.h"
#include "remote/server/options.h"
#include "remote/server/supervisor/worker_messages.h"
#include "remote/server/worker/platforms.h"
#include "remote/transport/frames.h"

namespace cleave::remote::server {

// The description of all devices, made before there is a client.
class DeviceCatalog {
 public:
  DeviceCatalog(const Table& cl, const std::vector<OfferedPlatform>& platforms);

  // The Welcome. To be called once.
  std::span<const std::byte> welcome(const Options& options, std::uint64_t features, unsigned clients,
                                     std::uint16_t version);
  [[nodiscard]] bool empty() const { return platforms_.empty(); }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<wire::Platform>> platforms_;
};

struct ClientInfo {
  std::string name;
  std::chrono::milliseconds heartbeat{0};
  std::uint64_t features = 0;
  bool is_query = false;
};

// What a handshake needs.
struct HandshakeParams {
  const Options& options;
  Time until;  // the deadline for the Hello
  const std::vector<std::string>& tokens;
  std::uint64_t features = 0;  // of this server
  // Asks the supervisor.
  std::function<Admission(const ClientInfo&)> admit;
};

// Reads the Hello and answers it. Empty: refused or disconnected; `why` is set.
std::optional<ClientInfo> handshake(const HandshakeParams& params, DeviceCatalog& offer, Stream& stream,
                                    FrameReader& input, std::string& why);

}  // namespace cleave::remote::server
