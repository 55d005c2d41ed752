// A stream connection that is opened without blocking.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files/verified_descriptor.h"
#include "base/socket_address.h"

namespace cleave::neighbours {

// Resolves an address to at most 8 destinations, to be tried in this order; empty if the name cannot be resolved.
// Blocks in the resolver if the host is given by name.
std::vector<base::SocketAddress> destinations_of(const base::Address& address);

class NonblockingConnection {
 public:
  enum class State : std::uint8_t { closed, opening, open };

  // Starts to connect. See state() for the outcome, and error() if it is closed.
  void open(const base::SocketAddress& destination);

  // Updates the state of an opening connection.
  void poll_connect();

  // Reads available bytes into `buffer` and returns their number, which may be 0. Closes the connection and returns -1
  // if the peer has closed it, on errors, and if the descriptor is no longer ours. Requires: open.
  long read(char* buffer, std::size_t size);

  // Closes the connection for the reason `error` (errno, or 0).
  void drop(int error);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] int error() const { return error_; }  // why it was closed (errno); 0: by the peer

 private:
  base::VerifiedDescriptor socket_;
  State state_ = State::closed;
  int error_ = 0;
};

}  // namespace cleave::neighbours
