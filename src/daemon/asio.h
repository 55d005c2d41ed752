// The Asio types that the daemons use. A stream is a unix, TCP or vsock socket; all code but the opening of listening
// sockets treats them in the same way.
#pragma once

#include <asio/basic_socket_acceptor.hpp>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

namespace cleave::daemon {

using Stream = asio::generic::stream_protocol::socket;
using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
using ErrorCode = asio::error_code;

}  // namespace cleave::daemon
