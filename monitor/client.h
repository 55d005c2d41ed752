// One client of the daemon's. It is sent the newest total only: changes that come before it has accepted the last one replace
// each other. So whatever a client does, it costs one line of output, a few bytes of input, and small kernel buffers.
//
// For the event loop's thread. Kept alive by the hub and by its own pending operations.
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

  // Sends the greeting and starts to read.
  void start();

  // Sends what the client has not been sent yet, now or as soon as the client accepts it. May make the hub drop the client.
  void send_pending();

  // Sends a heartbeat and renews the allowance of input. Drops the client if it has accepted no data for `patience`.
  void send_heartbeat(TimePoint now, std::chrono::milliseconds patience);

  // Closes the connection, with a last line if the client accepts it at once.
  void disconnect(std::string_view last_line);

  // Its position in the hub's lists.
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
  std::size_t input_allowance_ = 0;  // bytes that it may still send before the next heartbeat
  bool reading_ = false;             // a wait for input is pending
  bool input_closed_ = false;        // it has closed its direction
  bool greeted_ = false;
  bool alive_due_ = false;
  std::uint64_t sent_sequence_ = 0;         // of the last total that was sent
  std::optional<TimePoint> blocked_since_;  // since when it has accepted no data
  std::array<char, CLEAVE_MONITOR_LINE_MAX> out_{};
  std::size_t out_begin_ = 0;  // of what is left in out_
  std::size_t out_end_ = 0;
};

}  // namespace cleave::monitor
