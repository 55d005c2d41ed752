// Which domains of one hypervisor run, and which of them are busy, from two sources that complement each
// other: events, which are prompt but may get lost, and listings, which are whole but take a while.
//
// A listing shows the domains of some moment between its beginning and its end. An event from meanwhile may
// be older or newer than that moment, so the last event of each domain from meanwhile is applied to the
// listing once it is there: events come in order, so that if it was too old, the newer one is still on its
// way.
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

// What libvirt knows a domain by.
using Uuid = std::array<unsigned char, 16>;

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
  // A domain is busy if it used at least this share of one processor between the last two samples. A domain
  // of which that is not known, because it is new or the hypervisor does not say, counts as busy: whoever
  // asks wants to know whom he may disturb.
  explicit Domains(double busy_share) : busy_share_(busy_share) {}

  void event(const Uuid& domain, bool running);

  void begin_listing();
  // True if the listing differed from what the events had led to.
  bool end_listing(const std::vector<Uuid>& running);

  // Processor times, all read at about `now`.
  void sample(const std::vector<CpuTime>& times, TimePoint now);

  // Forgets everything, for a new connection.
  void clear();

  [[nodiscard]] Counts counts() const;

 private:
  struct Domain {
    std::optional<std::chrono::nanoseconds> used;  // empty: not sampled yet
    TimePoint sampled;
    bool busy = true;
  };
  struct Hash {
    std::size_t operator()(const Uuid& uuid) const;
  };

  double busy_share_;
  std::unordered_map<Uuid, Domain, Hash> running_;
  bool listing_in_progress_ = false;
  std::unordered_map<Uuid, bool, Hash>
      events_during_listing_;  // the last event of each domain since begin_listing()
};

}  // namespace cleave::monitor
