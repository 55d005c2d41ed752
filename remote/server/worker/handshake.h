// The beginning of a connection: who is it, and what is there for it?
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

// What the server makes before there is a client: all about its devices.
class DeviceCatalog {
 public:
  DeviceCatalog(const Table& cl, const std::vector<OfferedPlatform>& platforms);

  // Makes the Welcome; once.
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

// Reads the Hello and answers it. Empty: refused, and `why` says so.
struct HandshakeParams {
  const Options& options;
  Time until;  // by when the Hello has to be there
  const std::vector<std::string>& tokens;
  std::uint64_t features = 0;  // ours
  // Whether there is room for it, and how many clients there are.
  std::function<Admission(const ClientInfo&)> admit;
};
std::optional<ClientInfo> handshake(const HandshakeParams& params, DeviceCatalog& offer, Stream& stream,
                                    FrameReader& input, std::string& why);

}  // namespace cleave::remote::server
