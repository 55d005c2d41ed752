// All clients: admits them up to a limit, sends them each new total and heartbeats, and drops those that accept no data.
//
// For the event loop's thread. Destroyed after the loop has run for the last time and before the loop itself.
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
#include <unordered_map>

#include "daemon/asio.h"
#include "daemon/peer_shares.h"
#include "monitor/client.h"
#include "monitor/log.h"
#include "monitor/totals.h"

namespace cleave::monitor {

struct HubOptions {
  std::size_t max_clients = 10'000;
  std::size_t clients_per_peer = 0;  // of one user, guest or address; 0: as many as there are
  std::chrono::milliseconds heartbeat{2000};
  std::chrono::milliseconds patience{30'000};  // with a client that accepts no data
  // By what rule domains count as busy, for the greeting.
  unsigned busy_share = 20;  // per cent
  std::chrono::milliseconds interval{3000};
  std::function<TimePoint()> now = std::chrono::steady_clock::now;
};

class Hub final : public ClientOwner {
 public:
  // Clients' heartbeats are spread over this number of rounds, so that a change does not have to wait behind the heartbeats of
  // ten thousand clients.
  static constexpr std::size_t kRounds = 16;

  // Since the start.
  struct Statistics {
    std::uint64_t admitted = 0;
    std::uint64_t refused = 0;
    std::uint64_t displaced = 0;  // by clients of peers with fewer
    std::uint64_t long_lines = 0;
    std::uint64_t slow = 0;
    std::uint64_t changes = 0;
  };

  explicit Hub(HubOptions options);

  // Admits a new client of this peer. Beyond the limits either it takes the place of another client
  // (daemon/peer_shares.h), or it is closed itself; the one that is closed is sent a "bye".
  void admit(daemon::Stream stream, const daemon::Peer& peer);

  // As in the options, from now on; no client is disconnected.
  void set_limits(std::size_t max_clients, std::size_t clients_per_peer, std::chrono::milliseconds patience);

  void publish(const Total& total);

  // Sends the heartbeats of the next round. To be called kRounds times in each heartbeat period.
  void send_heartbeat();

  // Disconnects all clients.
  void stop();

  [[nodiscard]] std::size_t clients() const { return shares_.taken(); }
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }

 private:
  using Round = std::list<std::shared_ptr<Client>>;

  [[nodiscard]] std::string_view greeting() const override { return greeting_; }
  [[nodiscard]] std::string_view total_line() const override { return total_line_; }
  [[nodiscard]] std::string_view alive_line() const override { return alive_line_; }
  [[nodiscard]] std::uint64_t sequence() const override { return sequence_; }
  [[nodiscard]] TimePoint now() const override { return options_.now(); }
  void drop(Client& client, DropReason why) override;
  void refuse(daemon::Stream& stream);

  HubOptions options_;
  std::array<Round, kRounds> rounds_;
  std::size_t next_client_round_ = 0;     // that a new client comes into
  std::size_t next_heartbeat_round_ = 0;  // the round whose heartbeat is next
  daemon::PeerShares shares_;
  std::unordered_map<daemon::PeerShares::Id, Client*> by_id_;
  daemon::PeerShares::Id latest_ = 0;
  Statistics statistics_;
  RateLimiter refusal_log_limit_{std::chrono::seconds(10)};
  RateLimiter drop_log_limit_{std::chrono::seconds(10)};
  std::uint64_t sequence_ = 0;
  std::string greeting_;
  std::string total_line_;
  std::string alive_line_;
};

}  // namespace cleave::monitor
