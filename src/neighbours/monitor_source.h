// A source that follows cleave-monitord: connects to it, reads its counts, and reconnects when the connection is lost.
//
// A round tries all destinations of all addresses, one after another. After a round without success there is a growing delay
// (backoff.h).
//
// Not thread-safe, except for close_in_child().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/settings/settings.h"
#include "neighbours/backoff.h"
#include "neighbours/monitor_protocol.h"
#include "neighbours/nonblocking_connection.h"
#include "neighbours/own_use.h"
#include "neighbours/source.h"

namespace cleave::neighbours {

class MonitorSource final : public Source {
 public:
  // `named`: the user has named the address, so warn if it cannot be reached. `seed` spreads the attempts of different
  // processes. Warns, too, if the daemon's heartbeat is longer than `max_age`, after which a count is stale.
  // `count_by` says which machines count; where the monitor is another machine's, this machine's own processor time is
  // sampled for that (own_use.h). A monitor that `trust` does not cover is not listened to, with a warning. Requires: at
  // least one address.
  MonitorSource(std::vector<base::Address> addresses, bool named, std::uint64_t seed,
                base::Nanoseconds max_age = base::Nanoseconds::max(),
                base::MonitorTrust trust = base::MonitorTrust::owner,
                base::CountBy count_by = base::CountBy::running);

  [[nodiscard]] std::string name() const override { return "monitor"; }
  [[nodiscard]] std::string endpoint() const override;
  [[nodiscard]] std::string state() const override;
  [[nodiscard]] std::optional<TimedCount> last_count() const override { return last_count_; }
  [[nodiscard]] std::optional<TimedPressure> last_pressure() const override { return last_pressure_; }
  [[nodiscard]] WakeCondition wake_condition() const override;
  void step(base::Nanoseconds now) override;
  // A remote daemon may be slow, so launches do not wait for it.
  [[nodiscard]] bool first_answer_known() const override { return first_answer_known_ || remote_; }
  [[nodiscard]] std::string take_warning() override;
  void close_in_child() override { connection_.drop(0); }

 private:
  struct Candidate {
    std::size_t address = 0;  // in addresses_
    base::SocketAddress destination;
  };

  void start_round(base::Nanoseconds now);
  void connect_next(base::Nanoseconds now);
  void check_connecting(base::Nanoseconds now);
  bool is_trusted();
  void receive(base::Nanoseconds now);
  void update_count();
  void sample_own_use(base::Nanoseconds now);
  void check_heartbeat();
  void disconnect(base::Nanoseconds now);
  void back_off(base::Nanoseconds now);
  void warn_unreachable();
  void warn(const std::string& what);

  const std::vector<base::Address> addresses_;
  const bool named_;
  const bool remote_;
  const base::Nanoseconds max_age_;
  const base::MonitorTrust trust_;
  const base::CountBy count_by_;
  Backoff backoff_;
  std::vector<Candidate> round_;
  std::size_t round_index_ = 0;  // in round_
  NonblockingConnection connection_;
  std::optional<MonitorProtocol> protocol_;  // while there is a connection
  std::optional<OwnUse> own_use_;  // while there is a connection to another machine, if the busy ones count
  std::optional<TimedCount> last_count_;
  std::optional<TimedPressure> last_pressure_;
  base::Nanoseconds started_at_{0};  // the attempt or the conversation
  base::Nanoseconds next_round_{0};  // when the next round begins
  std::string warning_;
  bool first_answer_known_ = false;
};

// The addresses to try if the user names none: the daemon's socket on this machine and, in a guest with vsock, the host.
std::vector<base::Address> default_addresses();

}  // namespace cleave::neighbours
