// One connection to cleave-monitord as a conversation: bytes and times go in, the count comes out. Knows
// nothing of sockets. Whatever a server sends, a session keeps one line of it at most, and reads on only as
// long as the server stays within the protocol and within kMaxBurst.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/monitor_line.h"

namespace cleave::neighbours {

// A count, and when it was last heard or confirmed.
struct TimedCount {
  unsigned vms = 1;  // at least 1
  base::Nanoseconds at{0};
};

class MonitorProtocol {
 public:
  enum class State : std::uint8_t {
    greeting,   // the server has not introduced itself
    following,  // it has
    ended,      // it said goodbye, or nothing at all for too long
    broken,     // what it sent is not the protocol, or too much of it: error_text() says why
  };

  // More than that at once is no news of virtual machines but a flood; kBytesPerSecond are forgiven again.
  static constexpr std::size_t kMaxBurst = 64 << 10;
  static constexpr std::size_t kBytesPerSecond = 4 << 10;

  explicit MonitorProtocol(base::Nanoseconds now) : last_line_(now), last_bytes_(now) {}

  // Takes the next bytes of the stream; those after an end are passed over.
  void receive(std::string_view bytes, base::Nanoseconds now);

  // Ends the session if it has been silent for too long.
  void check_timeout(base::Nanoseconds now);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const std::string& error_text() const { return error_text_; }

  // The last count; empty while none has come. A server that no longer knows, or whose `alive` belongs to
  // another count, does not confirm it.
  [[nodiscard]] const std::optional<TimedCount>& last_count() const { return last_count_; }

  // How often at least the server says something, once it has introduced itself.
  [[nodiscard]] base::Nanoseconds heartbeat() const { return heartbeat_; }

  // When check_timeout() may find that the silence is too long.
  [[nodiscard]] base::Nanoseconds deadline() const { return last_line_ + timeout_; }

 private:
  void handle_line(std::string_view line, base::Nanoseconds now);
  void handle_greeting(const base::MonitorLine& line);
  void fail(std::string why);
  bool exceeds_rate(std::size_t bytes, base::Nanoseconds now);

  State state_ = State::greeting;
  std::string error_text_;
  std::string line_;  // the beginning of one that is not complete
  std::optional<TimedCount> last_count_;
  std::optional<std::uint64_t>
      confirmed_sequence_;  // the sequence number of the count, while the server knows it
  base::Nanoseconds last_line_;
  base::Nanoseconds heartbeat_{0};
  base::Nanoseconds timeout_ = std::chrono::seconds(5);
  base::Nanoseconds last_bytes_;
  std::size_t burst_ = 0;  // bytes that are not forgiven yet
};

}  // namespace cleave::neighbours
