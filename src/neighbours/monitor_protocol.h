// The client's side of the monitor's protocol (docs/monitor-protocol.md) for one connection, without sockets: bytes and
// times go in, the count comes out. It buffers at most one line, and ends when the server violates the protocol or
// sends more than kMaxBurst allows.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/text/monitor_line.h"
#include "neighbours/staleness.h"

namespace cleave::neighbours {

class MonitorProtocol {
 public:
  enum class State : std::uint8_t {
    greeting,   // no greeting has been received yet
    following,  // the greeting has been received
    ended,      // the server closed the protocol with `bye`, or was silent for too long
    broken,     // the server violated the protocol or the rate: see error_text()
  };

  // The rate limit: a leaky bucket of kMaxBurst bytes that drains at kBytesPerSecond.
  static constexpr std::size_t kMaxBurst = 64 << 10;
  static constexpr std::size_t kBytesPerSecond = 4 << 10;

  explicit MonitorProtocol(base::Nanoseconds now) : last_line_(now), last_bytes_(now) {}

  // Processes the next bytes of the stream; ignored once the protocol has ended.
  void receive(std::string_view bytes, base::Nanoseconds now);

  // Ends the protocol if the server has been silent for too long.
  void check_timeout(base::Nanoseconds now);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const std::string& error_text() const { return error_text_; }

  // The last count; empty if none has come. Not confirmed by a server that has since sent `unknown`, nor by an `alive`
  // with another sequence number.
  [[nodiscard]] const std::optional<TimedCount>& last_count() const { return last_count_; }

  // Of the machines of the last count, those that are busy.
  [[nodiscard]] unsigned busy() const { return busy_; }

  // The pressure that came with the last count; empty if none did. Confirmed like the count.
  [[nodiscard]] std::optional<TimedPressure> last_pressure() const {
    if (!last_count_ || !pressure_) return std::nullopt;
    return TimedPressure{*pressure_, last_count_->at};
  }

  // The rule by which machines are busy, from the greeting; empty if the daemon does not send it.
  struct BusyRule {
    double share = 0;  // of one processor
    base::Nanoseconds interval{0};
  };
  [[nodiscard]] const std::optional<BusyRule>& busy_rule() const { return busy_rule_; }

  // The longest interval between two lines, from the greeting.
  [[nodiscard]] base::Nanoseconds heartbeat() const { return heartbeat_; }

  // When to call check_timeout().
  [[nodiscard]] base::Nanoseconds deadline() const { return last_line_ + timeout_; }

 private:
  void handle_line(std::string_view line, base::Nanoseconds now);
  void handle_greeting(const base::MonitorLine& line);
  void fail(std::string why);
  bool exceeds_rate(std::size_t bytes, base::Nanoseconds now);

  State state_ = State::greeting;
  std::string error_text_;
  std::string line_;  // the incomplete last line
  std::optional<TimedCount> last_count_;
  unsigned busy_ = 0;
  std::optional<unsigned> pressure_;
  std::optional<BusyRule> busy_rule_;
  std::optional<std::uint64_t> confirmed_sequence_;  // the count's, unless `unknown` has come since
  base::Nanoseconds last_line_;
  base::Nanoseconds heartbeat_{0};
  base::Nanoseconds timeout_ = std::chrono::seconds(5);
  base::Nanoseconds last_bytes_;
  std::size_t burst_ = 0;  // bytes in the bucket
};

}  // namespace cleave::neighbours
