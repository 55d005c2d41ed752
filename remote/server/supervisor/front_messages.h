// The messages between supervisor and front, over a SOCK_SEQPACKET socket pair (the control socket).
//
// The supervisor sends the front its options, the counters, the files with the clients' secrets, and each socket on which to
// listen. The front introduces each client that it has authenticated, and gets a verdict for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "remote/server/session/grant.h"

namespace cleave::remote::server {

// What a client has said of itself, and what a worker needs to serve it. No secret is in it.
struct ClientInfo {
  std::string name;             // printable
  std::uint16_t version = 0;    // of the protocol, that both know
  std::uint64_t features = 0;   // of the client
  std::uint32_t heartbeat = 0;  // the longest time between two of its messages in ms; 0: not limited
  bool is_query = false;        // it only asks for the devices
  bool is_relayed = false;      // by the front, which notices when the client accepts nothing
  // Bytes of its Hello that are still to be taken from the connection: descriptors come with them (front/unknown_peer.h).
  std::uint32_t left_in_socket = 0;

  bool operator==(const ClientInfo&) const = default;
};

// An authenticated client. With it comes the descriptor of its connection, on which all that has been read is the Hello. The
// connection of a client with TLS leads to the front.
struct Introduction {
  std::uint32_t id = 0;
  std::string peer;      // for the log, with the name that the client has proved
  std::string peer_key;  // the same for all connections that count as one peer's
  ClientInfo client;
  Grant grant;
};

struct Verdict {
  enum class Answer : std::uint8_t { admitted, refused, waits };  // for a place; another verdict follows

  std::uint32_t id = 0;  // of the introduction
  Answer answer = Answer::refused;
  std::string why;  // it is refused
};

// Which of the descriptors in CredentialFiles (front/credentials.h) come with it, in this order.
struct CredentialsSent {
  bool tokens = false;
  bool clients = false;
};

// What a client says that it is called, for the log, where it must not pass for what the front says of it.
std::string quoted(std::string name);

// Of a listening socket, whose descriptor comes with it.
struct ListenerKind {
  bool tls = false;
  bool is_unix = false;
};

// The first character of a packet to the front. The options come before, without one.
enum class FrontMessage : char {
  listener = 'l',     // a ListenerKind
  counters = 'n',     // the descriptor of the shared counters (front_counters.h)
  credentials = 'c',  // CredentialsSent: before the first listener, and whenever they have been read again
  verdict = 'v',      // a Verdict
  worker = 'p',       // a WorkerPacket; the front sends such as well
};

// A message between a worker and the front (peers/peer_messages.h), which the supervisor passes on unread. The number is the
// supervisor's for the worker, and no other's later.
struct WorkerPacket {
  std::uint64_t worker = 0;
  std::string body;
};

std::string encode(const ClientInfo& client);
std::string encode(const Grant& grant);
std::string encode(const Introduction& introduction);
std::string encode(const Verdict& verdict);
std::string encode(const ListenerKind& kind);
std::string encode(const CredentialsSent& sent);
// With the first character of the packet, which no introduction has.
std::string encode(const WorkerPacket& packet);
bool decode(const std::string& text, ClientInfo& client);
bool decode(const std::string& text, Grant& grant);
bool decode(const std::string& text, Introduction& introduction);
bool decode(const std::string& text, Verdict& verdict);
bool decode(const std::string& text, ListenerKind& kind);
bool decode(const std::string& text, CredentialsSent& sent);
bool decode(const std::string& text, WorkerPacket& packet);

}  // namespace cleave::remote::server
