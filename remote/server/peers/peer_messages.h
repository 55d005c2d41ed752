// The messages between a worker and the front about contents that go from one server to another. The supervisor passes them on
// unread, behind the number by which it knows the worker.
//
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::remote::server {

struct PeerMessage {
  enum class Kind : char {
    // A worker's requests, which the front answers with the next ones, or `failed`.
    offer = 'o',
    fetch = 'f',  // with ticket and addresses
    // The front's answers, with the request's number.
    offered = 't',    // with the ticket
    connected = 'c',  // with the descriptor of a connection to the source, which will send the contents
    failed = 'x',     // and why
    // Unasked: an offer is being fetched, by a connection whose descriptor comes with it.
    arrived = 'a',
  };
  Kind kind = Kind::failed;
  std::uint32_t number = 0;
  std::string ticket{};  // transport/ticket.h
  std::vector<std::string> addresses{};
  std::string why{};

  bool operator==(const PeerMessage&) const = default;
};

std::string encode(const PeerMessage& message);
bool decode(const std::string& text, PeerMessage& message);

// Whether an encoded message of the front's answers a request.
inline bool is_answer(const std::string& text) {
  return !text.empty() && text.front() != static_cast<char>(PeerMessage::Kind::arrived);
}

// A worker's requests that have not been answered; more end the worker.
inline constexpr unsigned kMaxPeerRequests = 32;

}  // namespace cleave::remote::server
