// Follows cleave-monitord: looks for it, listens to it, and comes back to it when it has gone.
//
// A round tries every destination of every address in turn, the next one as soon as one fails. After a round
// without an answer there is a pause, longer each time (backoff.h).
//
// Not thread-safe, but for forsake().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "neighbours/backoff.h"
#include "neighbours/connection.h"
#include "neighbours/source.h"

namespace cleave::neighbours {

class MonitorSource final : public Source {
 public:
  // `named`: the user has named the address, so that it is worth a word if nobody is there. `seed` spreads
  // the attempts of different processes. A monitor that need not say anything for longer than `max_age`, how
  // long a count holds, is worth a word too.
  MonitorSource(std::vector<base::Address> addresses, bool named, std::uint64_t seed,
                base::Nanoseconds max_age = base::Nanoseconds::max());

  [[nodiscard]] std::string name() const override { return "monitor"; }
  [[nodiscard]] std::string place() const override;
  [[nodiscard]] std::string state() const override;
  [[nodiscard]] std::optional<Heard> heard() const override { return heard_; }
  [[nodiscard]] Wish wish() const override;
  void step(base::Nanoseconds now) override;
  // A server somewhere in the network may take its time, so no launch waits for it.
  [[nodiscard]] bool settled() const override { return settled_ || remote_; }
  [[nodiscard]] std::string take_complaint() override;
  void forsake() override { connection_.drop(0); }

 private:
  struct Candidate {
    std::size_t address = 0;  // in addresses_
    Destination destination;
  };

  void begin_round(base::Nanoseconds now);
  void try_next(base::Nanoseconds now);
  void see_whether_open(base::Nanoseconds now);
  void listen(base::Nanoseconds now);
  void compare_with_heartbeat();
  void hang_up(base::Nanoseconds now);
  void pause(base::Nanoseconds now);
  void complain_of_silence();
  void complain(const std::string& what);

  const std::vector<base::Address> addresses_;
  const bool named_;
  const bool remote_;
  const base::Nanoseconds max_age_;
  Backoff backoff_;
  std::vector<Candidate> round_;
  std::size_t at_ = 0;  // in round_
  Connection connection_;
  std::optional<Session> session_;  // while there is a connection
  std::optional<Heard> heard_;
  base::Nanoseconds began_{0};  // the attempt or the conversation
  base::Nanoseconds next_{0};   // when the next round begins
  std::string complaint_;
  bool settled_ = false;
};

// The addresses where a monitor is looked for if the user names none: the daemon's own socket on this
// machine, and, in a guest with vsock, the host.
std::vector<base::Address> usual_addresses();

}  // namespace cleave::neighbours
