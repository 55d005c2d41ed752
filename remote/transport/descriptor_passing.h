// Descriptors that go over a unix socket together with bytes (SCM_RIGHTS).
//
// Thread-safe. Nothing throws.
#pragma once

#include <cstddef>
#include <span>

namespace cleave::remote {

// Sends the bytes, at least one, and with the first of them `descriptor`, which stays the caller's. Waits;
// false: failed.
bool send_with_descriptor(int socket, std::span<const std::byte> bytes, int descriptor);

// Receives at most `into.size()` bytes and the descriptor that came with them, or -1; it is the caller's, and
// closed on exec. The answer is recvmsg(2)'s. More descriptors than one are closed.
long receive_with_descriptor(int socket, std::span<std::byte> into, int& descriptor, int flags);

}  // namespace cleave::remote
