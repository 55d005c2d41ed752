// Which connections may wait for their handshake, and which of them is next. No peer has been authenticated yet, so
// none may keep others out: each has a share of both, and peers are served round-robin.
//
// A connection is silent, then it has spoken (its first bytes have arrived), then it is greeted (its handshake is under way).
// Silent ones cost a descriptor, greeted ones a thread.
//
// Decides only. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace cleave::remote::server {

struct ArrivalLimits {
  // Connections that are silent or have spoken.
  std::size_t waiting = 1024;
  std::size_t waiting_per_peer = 128;
  std::size_t greeted = 64;
  std::size_t greeted_per_peer = 8;
};

class Arrivals {
 public:
  using Id = std::uint64_t;

  explicit Arrivals(const ArrivalLimits& limits = {}) : limits_(limits) {}

  struct Place {
    bool may_wait = false;      // otherwise it must be closed, and is not known here
    std::optional<Id> instead;  // this one must be closed, and is no longer known
  };
  // A new connection. If all places are taken it gets one of a peer with the most, if its own has fewer: that of the oldest
  // silent connection, or else of the oldest.
  Place add(Id id, const std::string& peer);
  void has_spoken(Id id);
  // The next one to be greeted, which counts as greeted from now on. Empty: none, or too many are.
  std::optional<Id> next();
  // It is closed, or its handshake has ended.
  void remove(Id id);

  [[nodiscard]] std::size_t waiting() const { return connections_.size() - greeted_; }
  [[nodiscard]] std::size_t greeted() const { return greeted_; }

 private:
  enum class State : std::uint8_t { silent, spoken, greeted };
  struct Connection {
    std::string peer;
    State state = State::silent;
  };
  struct Peer {
    std::deque<Id> waiting;
    std::deque<Id> spoken;  // of these
    std::size_t greeted = 0;
  };

  [[nodiscard]] std::optional<Id> oldest_of_heaviest(std::size_t but_more_than) const;

  const ArrivalLimits limits_;
  std::map<Id, Connection> connections_;
  std::map<std::string, Peer> peers_;
  std::string latest_;  // the peer that was last
  std::size_t greeted_ = 0;
};

}  // namespace cleave::remote::server
