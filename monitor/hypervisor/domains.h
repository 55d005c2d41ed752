// Which domains of one hypervisor run, and which of them are busy. There are two sources: events, which are prompt but may be
// lost, and listings, which are complete but take time.
//
// A listing shows the domains at some moment between its beginning and its end, and an event during the listing may be older
// or newer than that moment. So the last event of each domain during the listing is applied to its result. Events come in
// order: if the last one was older than the moment of the listing, a newer one is still to come.
//
// Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

namespace cleave::monitor {

// Libvirt's identifier of a domain.
using Uuid = std::array<unsigned char, 16>;

struct UuidHash {
  std::size_t operator()(const Uuid& uuid) const;
};

using TimePoint = std::chrono::steady_clock::time_point;

// The processor time that a domain has used since it was started, all its processors together.
struct CpuTime {
  Uuid domain{};
  std::chrono::nanoseconds used{0};
};

struct Counts {
  unsigned running = 0;
  unsigned busy = 0;  // of those running

  bool operator==(const Counts&) const = default;
};

class Domains {
 public:
  // A domain is busy if it used at least this share of one processor between the last two samples. It also counts as busy while
  // that is not known, because it is new or the hypervisor does not report it: clients assume that a neighbour is affected unless
  // it is known to be idle.
  explicit Domains(double busy_share) : busy_share_(busy_share) {}

  void event(const Uuid& domain, bool running);

  void begin_listing();
  // True if the listing differs from the state according to the events.
  bool end_listing(const std::vector<Uuid>& running);

  // Processor times, all read at about `now`.
  void sample(const std::vector<CpuTime>& times, TimePoint now);

  // Resets the state, for a new connection.
  void clear();

  [[nodiscard]] Counts counts() const;

 private:
  struct Domain {
    std::optional<std::chrono::nanoseconds> used;  // empty: not sampled yet
    TimePoint sampled;
    bool busy = true;
  };

  double busy_share_;
  std::unordered_map<Uuid, Domain, UuidHash> running_;
  bool listing_in_progress_ = false;
  std::unordered_map<Uuid, bool, UuidHash>
      events_during_listing_;  // the last event of each domain since begin_listing()
};

}  // namespace cleave::monitor
