// What supervisor and worker say to each other, over a socket of packets between them.
//
// The supervisor gives a worker one connection, once. The worker says who has come, is told whether there is
// room, and says why the client has gone; then it ends.
#pragma once

#include <cstddef>
#include <string>

namespace cleave::remote::server {

// With the connection's descriptor.
struct Assignment {
  bool tls = false;
  bool is_unix = false;
  std::string peer;  // for the log
};

std::string encode(const Assignment& assignment);
bool decode(const std::string& text, Assignment& assignment);

// What the worker hears when it has said who has come.
struct Admission {
  bool admitted = false;  // false: there are as many clients as there may be
  unsigned clients = 0;   // with this one, if it is one
};

std::string encode(const Admission& admission);
bool decode(const std::string& text, Admission& admission);

// The first character of a worker's packet; the rest is text.
enum class WorkerMessage : char {
  client = 'c',     // has the right to be served: its name
  query = 'v',      // only asks what there is: its name
  refused = 'r',    // why
  violation = 'h',  // has done what no client of good faith would: what
  ended = 'g',      // why
};

inline constexpr std::size_t kMaxPacket = 1024;

}  // namespace cleave::remote::server
