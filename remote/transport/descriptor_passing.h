// Passing descriptors over a unix socket together with bytes (SCM_RIGHTS).
//
// Thread-safe. Nothing throws.
#pragma once

#include <cstddef>
#include <span>

namespace cleave::remote {

// Sends the bytes, at least one, and `descriptor` with the first of them; the descriptor stays the caller's. Waits. False:
// failed.
bool send_with_descriptor(int socket, std::span<const std::byte> bytes, int descriptor);

// Receives at most `into.size()` bytes and the descriptor that came with them (-1: none), which is the caller's and closed on
// exec. Further descriptors are closed. Returns what recvmsg(2) returned.
long receive_with_descriptor(int socket, std::span<std::byte> into, int& descriptor, int flags);

}  // namespace cleave::remote
