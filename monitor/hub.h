// All clients: lets them in up to a limit, tells them each new total, gives each its heartbeat, and drops
// those that take nothing.
//
// Lives in the event loop's thread. Destroyed after the loop has run for the last time, before the loop
// itself.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/asio.h"
#include "monitor/client.h"
#include "monitor/log.h"
#include "monitor/totals.h"

namespace cleave::monitor {

struct HubOptions {
  std::size_t max_clients = 10'000;
  std::chrono::milliseconds heartbeat{2000};
  std::chrono::milliseconds patience{30'000};  // with a client that takes nothing
  std::function<TimePoint()> now = std::chrono::steady_clock::now;
};

class Hub {
 public:
  // The clients' heartbeats are spread over so many rounds, so that ten thousand of them are not one long
  // burst that a change has to wait behind.
  static constexpr std::size_t kRounds = 16;

  enum class DropReason : std::uint8_t { left, long_line, slow };

  // Since the beginning.
  struct Statistics {
    std::uint64_t admitted = 0;
    std::uint64_t refused = 0;
    std::uint64_t long_lines = 0;
    std::uint64_t slow = 0;
    std::uint64_t changes = 0;
  };

  explicit Hub(HubOptions options);

  // A new client. Beyond the limit it gets a "bye" and is not kept.
  void admit(daemon::Stream stream);

  void publish(const Total& total);

  // Gives the next of the kRounds its heartbeat. To be called kRounds times a heartbeat.
  void send_heartbeat();

  // Hangs up on everybody.
  void stop();

  [[nodiscard]] std::size_t clients() const { return clients_; }
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }

  // For the clients.
  [[nodiscard]] std::string_view greeting() const { return greeting_; }
  [[nodiscard]] std::string_view total_line() const { return total_line_; }
  [[nodiscard]] std::string_view alive_line() const { return alive_line_; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  [[nodiscard]] TimePoint now() const { return options_.now(); }
  void drop(Client& client, DropReason why);

 private:
  using Round = std::list<std::shared_ptr<Client>>;

  void refuse(daemon::Stream& stream);

  HubOptions options_;
  std::array<Round, kRounds> rounds_;
  std::size_t next_client_round_ = 0;     // that a new client comes into
  std::size_t next_heartbeat_round_ = 0;  // the round whose heartbeat is next
  std::size_t clients_ = 0;
  Statistics statistics_;
  RateLimiter refusal_log_limit_{std::chrono::seconds(10)};
  RateLimiter drop_log_limit_{std::chrono::seconds(10)};
  std::uint64_t sequence_ = 0;
  std::string greeting_;
  std::string total_line_;
  std::string alive_line_;
};

}  // namespace cleave::monitor
