// The messages between the server's processes (messages.fbs), each of them one packet over a SOCK_SEQPACKET socket pair (the control
// socket); from a worker over a pipe with packets (O_DIRECT), since a worker must not pass descriptors.
//
// A worker may run its client's code, and is rate-limited (supervisor/workers.h). So no packet is trusted: its
// size is bounded, FlatBuffers' verifier and then the checks of what the schema cannot express have to pass, and no
// more descriptors may come than the message has. Only then is anything of it read.
//
// Thread-safe: plain values and pure functions, but for PacketReader. May throw std::bad_alloc.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/options.h"
#include "remote/server/messages.h"
#include "remote/server/options/grant.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {

// Bytes of a packet, but of that with the options, which has to fit into the buffer of the control socket.
inline constexpr std::size_t kMaxPacket = PIPE_BUF;
inline constexpr std::size_t kMaxOptionsSize = std::size_t{64} << 10U;
// Bytes of what a worker says in a report, and of why contents do not go from one server to another.
inline constexpr std::size_t kMaxReportText = 1024;
inline constexpr std::size_t kMaxReason = 200;

// The members of these are explained in the schema.
struct ClientInfo {
  std::string name;
  std::uint16_t version = 0;
  std::uint64_t features = 0;
  std::uint32_t heartbeat = 0;
  bool is_query = false;
  bool is_relayed = false;
  std::uint32_t left_in_socket = 0;

  bool operator==(const ClientInfo&) const = default;
};

struct Introduction {
  std::uint32_t id = 0;
  std::string peer;
  std::string peer_key;
  ClientInfo client;
  Grant grant;
};

struct ListenerKind {
  bool tls = false;
  bool is_unix = false;
};

struct Assignment {
  ClientInfo client;
  Grant grant;
  unsigned clients = 0;
  bool is_traced = false;
};

struct PeerMessage {
  using Kind = ipc::PeerMessageKind;

  Kind kind = Kind::failed;
  std::uint64_t worker = 0;
  std::uint32_t number = 0;
  std::string ticket{};
  std::vector<std::string> addresses{};
  std::string why{};  // cut to kMaxReason when it is sent

  // Of a worker; the other kinds are the front's, all but `arrived` its answers.
  [[nodiscard]] bool is_request() const { return kind == Kind::offer || kind == Kind::fetch; }
  bool operator==(const PeerMessage&) const = default;
};

using Packet = flatbuffers::DetachedBuffer;

// `make` is given the builder, as the schema's functions are that create a message.
template <typename Make>
Packet packet_of(Make make) {
  flatbuffers::FlatBufferBuilder builder;
  const auto finish = [&]<typename Table>(flatbuffers::Offset<Table> body) {
    builder.Finish(ipc::CreatePacket(builder, ipc::BodyTraits<Table>::enum_value, body.Union()));
  };
  finish(make(builder));
  return builder.Release();
}

Packet encode(const std::vector<daemon::GivenValue>& options);
Packet encode(const Introduction& introduction);
Packet encode(const Assignment& assignment);
Packet encode(const PeerMessage& message);
// `text` is cut to kMaxReportText.
Packet encode(ipc::ReportKind report, std::string_view text);

std::vector<daemon::GivenValue> decode(const ipc::Options& options);
Introduction decode(const ipc::Introduction& introduction);
Assignment decode(const ipc::Assignment& assignment);
PeerMessage decode(const ipc::PeerMessage& message);

inline std::span<const std::byte> bytes_of(const Packet& packet) {
  return std::as_bytes(std::span(packet.data(), packet.size()));
}
// Waits while the socket's buffer is full. The descriptors stay the caller's. False: failed, and errno says why.
bool send_packet(int socket, const Packet& packet, std::span<const int> descriptors = {});
// Does not wait.
bool send_packet_now(int socket, const Packet& packet);

// Null: no packet that there may be, with so many descriptors. `bytes` are aligned to 8.
const ipc::Packet* verified_packet(std::span<const std::byte> bytes, std::size_t descriptors);

// One packet at a time. Not thread-safe.
class PacketReader {
 public:
  explicit PacketReader(std::size_t most = kMaxPacket)
      : most_(most), buffer_(most / sizeof(buffer_[0]) + 1) {}
  PacketReader(const PacketReader&) = delete;
  PacketReader& operator=(const PacketReader&) = delete;
  // What has come with a packet, and has not been taken, is discarded.
  ~PacketReader();

  // `timeout`: none is there, or a signal came. `closed`: the other side has ended. `data` is also what is no packet: get() is null.
  ReadStatus read_socket(int socket, int flags);
  ReadStatus read_pipe(int pipe);

  // The message that was read last; null: it is another one, or none.
  template <typename Message>
  [[nodiscard]] const Message* get() const {
    return packet_ != nullptr ? packet_->body_as<Message>() : nullptr;
  }
  // Those that came with it.
  std::vector<base::FileDescriptor> descriptors{};

 private:
  ReadStatus take(long got);

  const std::size_t most_;
  std::vector<std::uint64_t> buffer_;
  const ipc::Packet* packet_ = nullptr;
};

}  // namespace cleave::remote::server
