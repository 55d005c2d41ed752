// The messages between supervisor and worker: to the worker over a SOCK_SEQPACKET socket pair (the control socket), from it over a
// pipe with packets (O_DIRECT), since a worker must not pass descriptors.
//
// The supervisor sends a worker its options, and later passes it one connection (Assignment). The worker reports that it has
// taken the connection, before it reads from it, and why the client has disconnected, and exits. Meanwhile worker and front send
// each other messages by the supervisor, which reads none of them. A worker that sends many is heard slowly (message_rate.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/options.h"
#include "remote/server/supervisor/front_messages.h"

namespace cleave::remote::server {

// The options that were given. May be longer than kMaxPacket.
std::string encode(const std::vector<daemon::GivenValue>& options);
bool decode(const std::string& text, std::vector<daemon::GivenValue>& options);

// Of an admitted client. Comes with the descriptor of its connection.
struct Assignment {
  ClientInfo client;
  Grant grant;
  unsigned clients = 0;    // including this one, unless it only queries
  bool is_traced = false;  // the last descriptor is the file of the trace
};

std::string encode(const Assignment& assignment);
bool decode(const std::string& text, Assignment& assignment);

// The first character of a worker's packet; the rest is text.
enum class WorkerMessage : char {
  taken = 't',      // the connection: no other worker can serve it any more
  refused = 'r',    // the client, for want of a device: the reason
  violation = 'h',  // of the protocol: a description
  ended = 'g',      // the reason
  to_front = 'p',   // a message for the front (peers/peer_messages.h), which answers by the supervisor
};

// Of all messages but the options. Not more than PIPE_BUF.
inline constexpr std::size_t kMaxPacket = 2048;

}  // namespace cleave::remote::server
