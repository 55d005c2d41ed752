// One end of a connection: bytes in order, both ways.
//
// One thread may read while another one writes; callers serialise readers, and writers. shutdown() may be called from any
// thread at any time. Nothing throws, nothing raises SIGPIPE. A connection that has been found closed stays closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <sys/uio.h>

#include "remote/transport/link_measure.h"

namespace cleave::remote {

using Time = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// As the deadline of a wait: do not wait.
inline constexpr Time kNoWait{};

enum class ReadStatus : std::uint8_t { data, timeout, closed };

// Called by a writer from time to time while the peer accepts no data.
using WhileBlocked = std::function<void()>;

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Reads at least one and at most `into.size()` bytes, as many as are available; `size` becomes their number. Waits at most
  // until `until`.
  virtual ReadStatus read(std::span<std::byte> into, std::size_t& size, Time until) = 0;

  // Writes all parts in order, and changes `parts`. False: the connection is closed, or has accepted no data for
  // `stall_timeout`.
  virtual bool write(std::span<iovec> parts, Duration stall_timeout, const WhileBlocked& while_blocked) = 0;
  bool write(std::span<iovec> parts, Duration stall_timeout) { return write(parts, stall_timeout, {}); }

  // Writes what is accepted at once, in order; `parts` becomes what is left. False: the connection is closed. Only if
  // can_write_some(): TLS cannot say which part of a record was sent.
  virtual bool write_some(std::span<iovec>& parts) { return write(std::exchange(parts, {}), Duration{}); }
  [[nodiscard]] virtual bool can_write_some() const { return false; }

  // Whether a read would return data without waiting for the network, or would find the connection closed where the socket
  // alone does not show it.
  [[nodiscard]] virtual bool has_data() = 0;

  // What is known of the link; empty: it cannot be measured.
  [[nodiscard]] virtual std::optional<LinkMeasure> measure() { return std::nullopt; }

  // Why the connection has closed, for people, as far as it is known; else empty.
  [[nodiscard]] virtual std::string close_reason() { return {}; }

  // Ends the connection in both directions and wakes threads in read() and write().
  virtual void shutdown() = 0;

  // Whether the descriptor still is the stream's: a program may close those that it does not know, and get the same number for a
  // file of its own. The stream then counts as closed, and leaves the number alone.
  [[nodiscard]] virtual bool is_ours() { return true; }

  // Closes the descriptor. For a forked child; only the destructor may follow.
  virtual void close() {}

  // The socket, for poll(): readable when data has arrived (but see has_data()). Owned by the stream.
  [[nodiscard]] virtual int descriptor() const = 0;
};

// Whose process a stream is in. Another's may close the stream's descriptor (Stream::is_ours()).
enum class Process : bool { ours, anothers };

// A stream on a connected socket, which it owns from now on. Small messages are sent at once (TCP_NODELAY).
std::unique_ptr<Stream> make_socket_stream(int socket, Process process = Process::ours);

// What an attempt to connect or to accept ends with.
struct ConnectResult {
  std::unique_ptr<Stream> stream;  // null: `problem` says why, for people, without the address
  std::string problem;
};

// Waits until the descriptor is ready for `events` (poll(2)) or its connection closed. False: not before `until`.
bool wait_for(int descriptor, short events, Time until);

// Waits until a socket accepts more data, or its connection is closed. False: the peer has accepted none for
// `stall_timeout`. What counts is that the send queue shrinks: a slow peer makes it shrink long before the system reports
// the socket writable.
bool wait_until_writable(int socket, Duration stall_timeout, const WhileBlocked& while_blocked = {});

// Milliseconds for poll(2) until then, rounded up, not less than 0.
int milliseconds_until(Time until);

}  // namespace cleave::remote
