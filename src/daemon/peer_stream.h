// Reading from, and closing, the connection of a peer that is not trusted. On a unix socket it may send any descriptors along with
// bytes. The kernel closes those that are not received in the call that takes the bytes, or that closes the connection, and the last
// reference to a socket that lingers blocks there for as long as the peer has chosen.
//
// For the event loop's thread. Neither function waits.
#pragma once

#include <cstddef>
#include <span>

#include "daemon/asio.h"

namespace cleave::daemon {

// Like Stream::read_some() of a non-blocking stream: the number of bytes, or 0 and an error. Bytes that come with descriptors are
// left where they are: asio::error::access_denied.
std::size_t read_from_peer(Stream& stream, std::span<char> into, ErrorCode& error);

// Like Stream::close(). Operations that are under way end with asio::error::operation_aborted.
void close_peer(Stream& stream) noexcept;

}  // namespace cleave::daemon
