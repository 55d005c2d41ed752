// One client of the daemon. It is sent only the newest total: a change replaces an earlier one that the client has not
// accepted yet. So whatever a client does, it costs one line of output, a few bytes of input, and small kernel buffers.
//
// For the event loop's thread. Kept alive by its owner and by its own pending operations.
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
#include "monitor/hypervisor/domains.h"

namespace cleave::monitor {

class Client;

// The client's owner, the hub: provides the lines to send, and disconnects it.
class ClientOwner {
 public:
  enum class DropReason : std::uint8_t { left, long_line, slow, displaced };

  ClientOwner() = default;
  ClientOwner(const ClientOwner&) = delete;
  ClientOwner& operator=(const ClientOwner&) = delete;
  virtual ~ClientOwner() = default;

  // Lines of the protocol, with their newlines.
  [[nodiscard]] virtual std::string_view greeting() const = 0;
  [[nodiscard]] virtual std::string_view total_line() const = 0;
  [[nodiscard]] virtual std::string_view alive_line() const = 0;
  [[nodiscard]] virtual std::uint64_t sequence() const = 0;  // of total_line()
  [[nodiscard]] virtual TimePoint now() const = 0;
  // Disconnects and forgets the client.
  virtual void drop(Client& client, DropReason why) = 0;
};

class Client : public std::enable_shared_from_this<Client> {
 public:
  // The owner outlives the event loop's last handler.
  Client(daemon::Stream stream, ClientOwner& owner) : stream_(std::move(stream)), owner_(owner) {}

  // Sends the greeting and starts to read.
  void start();

  // Sends what the client has not been sent yet, now or as soon as the client accepts it. May make the owner drop the client.
  void send_pending();

  // Sends a heartbeat and renews the allowance of input. Drops the client if it has accepted no data for `patience`.
  void send_heartbeat(TimePoint now, std::chrono::milliseconds patience);

  // Closes the connection, with a last line if the client accepts it at once.
  void disconnect(std::string_view last_line);

  // Its position in the owner's lists.
  struct Place {
    std::size_t round = 0;
    std::list<std::shared_ptr<Client>>::iterator at;
  };
  Place place;
  std::uint64_t id = 0;

 private:
  bool fill();
  void append(std::string_view line);
  void wait_until_writable();
  void wait_until_readable();
  void read();

  daemon::Stream stream_;
  ClientOwner& owner_;
  ClientInput input_;
  std::size_t input_allowance_ = 0;  // bytes that it may still send before the next heartbeat
  bool reading_ = false;             // a read is pending
  bool input_closed_ = false;        // it has closed its direction
  bool greeted_ = false;
  bool alive_due_ = false;
  std::uint64_t sent_sequence_ = 0;         // of the last total that was sent
  std::optional<TimePoint> blocked_since_;  // since when it has accepted no data
  std::array<char, CLEAVE_MONITOR_LINE_MAX> out_{};
  std::size_t out_begin_ = 0;  // of the unsent part of out_
  std::size_t out_end_ = 0;
};

}  // namespace cleave::monitor
