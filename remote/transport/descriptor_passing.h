// Passing descriptors over a unix socket together with bytes (SCM_RIGHTS).
//
// Thread-safe. Nothing throws.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/files/file_descriptor.h"

namespace cleave::remote {

// At most so many descriptors are sent and received at a time.
inline constexpr std::size_t kMaxDescriptors = 8;

// Sends the bytes, at least one, and the descriptors with the first of them; they stay the caller's. Waits. False: failed.
bool send_with_descriptors(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors);
bool send_with_descriptor(int socket, std::span<const std::byte> bytes, int descriptor);

// Receives at most `into.size()` bytes and the descriptors that came with them, which are closed on exec. Returns what
// recvmsg(2) returned. The kernel closes more than kMaxDescriptors, which may take forever (base/files/discard.h): not for a socket to which
// an unauthenticated peer may send, but with MSG_PEEK.
long receive_with_descriptors(int socket, std::span<std::byte> into,
                              std::vector<base::FileDescriptor>& descriptors, int flags);
// Receives at most `into.size()` bytes and the descriptor that came with them (-1: none), which is the caller's and closed on
// exec. Further descriptors are closed. Returns what recvmsg(2) returned.
long receive_with_descriptor(int socket, std::span<std::byte> into, int& descriptor, int flags);

}  // namespace cleave::remote
