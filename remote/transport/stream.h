// One end of a connection: bytes in order, both ways.
//
// One thread may read while another one writes; two readers, or two writers, must take turns. shutdown() may
// be called from any thread at any time. Nothing throws, nothing raises SIGPIPE. Once an end is gone it stays
// gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <sys/uio.h>

namespace cleave::remote {

using Time = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// As the end of a wait: there is none.
inline constexpr Time kNoWait{};

enum class ReadStatus : std::uint8_t { data, timeout, closed };

// What a writer does now and then while the peer takes nothing.
using WhileBlocked = std::function<void()>;

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // At least one byte and at most `into.size()`, as many as are there; `size` says how many. Waits until
  // `until`.
  virtual ReadStatus read(std::span<std::byte> into, std::size_t& size, Time until) = 0;

  // All of it, in order; `parts` is used up. False if the connection is gone, or takes nothing for
  // `stall_timeout`.
  virtual bool write(std::span<iovec> parts, Duration stall_timeout, const WhileBlocked& while_blocked) = 0;
  bool write(std::span<iovec> parts, Duration stall_timeout) { return write(parts, stall_timeout, {}); }

  // Whether a read would give something without waiting for the network, or say that the end has come where
  // the socket alone does not show it.
  [[nodiscard]] virtual bool has_data() = 0;

  // Of an end that is gone: why, for people, as far as it is known; else empty.
  [[nodiscard]] virtual std::string last_words() { return {}; }

  // Ends the connection for both directions and wakes who waits in read() or write().
  virtual void shutdown() = 0;

  // The socket, for poll(): readable when something has come (but see has_data()). Owned by the stream.
  [[nodiscard]] virtual int descriptor() const = 0;
};

// Around a connected socket, which it takes over; small messages are sent at once (TCP_NODELAY).
std::unique_ptr<Stream> make_socket_stream(int socket);

// Waits until the descriptor is ready for `events` (poll(2)) or its peer gone; false: not until `until`.
bool wait_for(int descriptor, short events, Time until);

// Waits until a socket takes more data, or its peer is gone; false: it has taken nothing for `stall_timeout`. A
// slow peer takes some all the time, long before there is so much room that the system says so.
bool wait_until_writable(int socket, Duration stall_timeout, const WhileBlocked& while_blocked = {});

// Milliseconds for poll(2) until then, rounded up, not less than 0.
int milliseconds_until(Time until);

}  // namespace cleave::remote
