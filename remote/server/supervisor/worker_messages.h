// The messages between supervisor and worker, over a SOCK_SEQPACKET socket pair (the control socket).
//
// The supervisor sends a worker its options, and later passes it one connection (Assignment). The worker reports that it has
// taken the connection, before it reads from it, and then its client; it gets an Admission, reports why the client has
// disconnected, and exits.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/options.h"

namespace cleave::remote::server {

// The options that were given. May be longer than kMaxPacket.
std::string encode(const std::vector<daemon::GivenValue>& options);
bool decode(const std::string& text, std::vector<daemon::GivenValue>& options);

// Comes with the connection's descriptor.
struct Assignment {
  bool tls = false;
  bool is_unix = false;
  std::string peer;  // for the log
};

std::string encode(const Assignment& assignment);
bool decode(const std::string& text, Assignment& assignment);

// The answer to the report of a client.
struct Admission {
  bool admitted = false;  // false: the server has its maximum of clients
  unsigned clients = 0;   // including this one, unless it only queries
};

std::string encode(const Admission& admission);
bool decode(const std::string& text, Admission& admission);

// The first character of a worker's packet; the rest is text.
enum class WorkerMessage : char {
  taken = 't',      // the connection: no other worker can serve it any more
  client = 'c',     // an authorised client: its name
  query = 'v',      // a client that only asks for the devices: its name
  refused = 'r',    // in the handshake: the reason
  violation = 'h',  // of the protocol: a description
  ended = 'g',      // the reason
};

// Of all messages but the options.
inline constexpr std::size_t kMaxPacket = 1024;

}  // namespace cleave::remote::server
