// One client of the daemon's. It is told the newest total and nothing older: what it has not taken yet when
// the next change comes, it never sees. So whatever it does, it costs one line of output, a few bytes of
// input, and the kernel's small buffers.
//
// Lives in the event loop's thread. Kept alive by the hub and by its own pending operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string_view>

#include "cleave/monitor.h"
#include "daemon/asio.h"
#include "monitor/client_input.h"
#include "monitor/domains.h"

namespace cleave::monitor {

class Hub;

class Client : public std::enable_shared_from_this<Client> {
 public:
  // The hub outlives the event loop's last handler.
  Client(daemon::Stream stream, Hub& hub) : stream_(std::move(stream)), hub_(hub) {}

  // Greets, and listens from then on.
  void start();

  // There may be something new to say: says it, or as soon as the client takes it. May make the hub drop the
  // client.
  void send_pending();

  // Says that all is as it was, and lets the client speak again. Drops it if it has taken nothing for
  // `patience`.
  void send_heartbeat(TimePoint now, std::chrono::milliseconds patience);

  // Hangs up, with a last line if the client takes it at once.
  void disconnect(std::string_view last_line);

  // Where the hub keeps it.
  struct Place {
    std::size_t round = 0;
    std::list<std::shared_ptr<Client>>::iterator at;
  };
  Place place;

 private:
  bool fill();
  void append(std::string_view line);
  void wait_until_writable();
  void wait_until_readable();
  void read();

  daemon::Stream stream_;
  Hub& hub_;
  ClientInput input_;
  std::size_t input_allowance_ = 0;  // bytes that it may still say until the next beat
  bool reading_ = false;             // a wait for input is pending
  bool input_closed_ = false;        // it will say nothing more
  bool greeted_ = false;
  bool alive_due_ = false;
  std::uint64_t sent_sequence_ = 0;         // the sequence number of the last total it was told
  std::optional<TimePoint> blocked_since_;  // since when it has taken nothing
  std::array<char, CLEAVE_MONITOR_LINE_MAX> out_{};
  std::size_t out_begin_ = 0;  // of what is left in out_
  std::size_t out_end_ = 0;
};

}  // namespace cleave::monitor
