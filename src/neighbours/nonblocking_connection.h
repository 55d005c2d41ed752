// A connection that is opened without waiting.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "base/address.h"
#include "neighbours/verified_descriptor.h"

namespace cleave::neighbours {

// Where a socket can be connected to.
struct Destination {
  sockaddr_storage address{};
  socklen_t size = 0;
};

// The destinations of an address, the first to be tried first; at most 8. Empty where its name cannot be
// looked up. Waits for the resolver if a host is given by name, for nobody otherwise.
std::vector<Destination> destinations_of(const base::Address& address);

class NonblockingConnection {
 public:
  enum class State : std::uint8_t { closed, opening, open };

  // Begins to connect. The answer is in state(); errno says why where it is closed.
  void open(const Destination& destination);

  // Finds out whether an opening connection is open by now.
  void poll_connect();

  // Reads what is there into `buffer`: the number of bytes, 0 where there are none at the moment. Closed
  // afterwards, with -1, if the other side has hung up, or if the descriptor is no longer ours.
  long read(char* buffer, std::size_t size);

  // Closes it; `error` (errno, or 0) is why.
  void drop(int error);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] int error() const { return error_; }  // why it was closed (errno); 0: the other side hung up

 private:
  VerifiedDescriptor socket_;
  State state_ = State::closed;
  int error_ = 0;
};

}  // namespace cleave::neighbours
