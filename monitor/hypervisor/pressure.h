// The pressure on a host's processors: how much processor time its domains lack, from 0 (none) to 1 (they get none of what they want).
//
// Over one sample, from libvirt's statistics of the domains that run (virConnectGetAllDomainStats, "vcpu"):
//
//     x = sum of the time that virtual processors waited for a processor
//         / max(that + sum of the time that they ran, kIdleShare × the sample's length)
//
// so 1 − x is the domains' speed relative to the speed that they would have alone, over the time in which they want to
// run. With the lower bound, a host whose domains do next to nothing has no pressure. A virtual processor's waiting
// time is its "delay": what its thread spent in the scheduler's queue, which its guest sees as stolen time. Older versions of
// libvirt have only "wait" for it, where the kernel counts it.
//
// Where no domain has such statistics the host's pressure-stall information is used instead, if the
// hypervisor is on this host: x is the share of the sample in which some process waited for a processor (Linux,
// Documentation/accounting/psi.rst: "some" of /proc/pressure/cpu). That includes processes other than the domains, so
// it is larger.
//
// Smoothed: p += (1 − exp(−t / kSmoothing)) × (x − p) for a sample of length t; the first is used as it is. After a step p has
// covered 63 % of it after one second, and 95 % after three.
//
// Not thread-safe. The time is an argument, except in read_host_stall().
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "monitor/hypervisor/domains.h"

namespace cleave::monitor {

// Of one virtual processor of a domain that runs, since its thread was started.
struct SchedulerTimes {
  Uuid domain{};
  unsigned vcpu = 0;
  std::chrono::nanoseconds ran{0};
  std::chrono::nanoseconds waited{0};
};

class PressureMeter {
 public:
  static constexpr double kIdleShare = 0.05;  // of one processor
  static constexpr std::chrono::milliseconds kSmoothing{1000};

  // The times of all virtual processors that have such statistics, each at most once, read at about `now`. One that
  // was not in the last sample, or of which a time has decreased since, counts from the next one on: its domain was
  // started, or it was plugged in.
  void sample(const std::vector<SchedulerTimes>& times, TimePoint now);

  // Instead: the time for which processes of the host have waited since it was started.
  void sample_host(std::chrono::nanoseconds stalled, TimePoint now);

  // Neither is available.
  void sample_nothing() { *this = {}; }

  // From 0 to 1; empty before the second sample in a row of the same kind.
  [[nodiscard]] std::optional<double> pressure() const { return pressure_; }

 private:
  using OfDomain = std::unordered_map<unsigned, SchedulerTimes>;  // by virtual processor

  void add(double x, std::chrono::duration<double> length);

  std::unordered_map<Uuid, OfDomain, UuidHash> domains_;
  bool domains_sampled_ = false;
  std::optional<std::chrono::nanoseconds> stalled_;
  TimePoint sampled_;
  std::optional<double> pressure_;
};

// The "total" of the line "some", from the text of /proc/pressure/cpu; empty if there is none.
std::optional<std::chrono::nanoseconds> parse_host_stall(std::string_view text);

// The same of this host. Empty where the kernel does not count it.
std::optional<std::chrono::nanoseconds> read_host_stall();

}  // namespace cleave::monitor
