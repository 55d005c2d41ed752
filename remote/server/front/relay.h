// Passes the bytes of a connection on, both ways, until either end closes: here TLS ends, and the worker has neither a key nor
// anything else of other connections.
#pragma once

#include <chrono>

#include "remote/transport/stream.h"

namespace cleave::remote::server {

// Blocks. What one end has sent before it closed still reaches the other. An outside peer that accepts nothing for
// `stall_timeout` is disconnected; the inside may take as long as its driver does. May throw std::system_error for want of a
// thread. When the outside has gone, the inside has `last_read_time` for each part of what has arrived before.
inline constexpr std::chrono::milliseconds kLastReadTime{100};
void relay(Stream& outside, Stream& inside, Duration stall_timeout, Duration last_read_time = kLastReadTime);

}  // namespace cleave::remote::server
