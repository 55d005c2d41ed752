// What supervisor and worker say to each other, over a socket of packets between them.
//
// The supervisor gives a worker one connection, once. The worker says who has come and why it has gone, then ends.
#pragma once

#include <cstdint>
#include <string>

namespace cleave::remote::server {

// With the connection's descriptor.
struct Assignment {
  bool tls = false;
  bool is_unix = false;
  bool full = false;      // the client is to be told so, and sent away
  unsigned clients = 0;   // now
  std::string peer;       // for the log
};

std::string encode(const Assignment& assignment);
bool decode(const std::string& text, Assignment& assignment);

// The first character of a worker's packet; the rest is text.
enum class Word : char {
  client = 'c',   // has said who it is, and is one from now on: its name
  visitor = 'v',  // only asks what there is: its name
  refused = 'r',  // why
  hostile = 'h',  // has done what no client of good faith would: what
  gone = 'g',     // why
};

inline constexpr std::size_t kMostPacket = 1024;

}  // namespace cleave::remote::server
