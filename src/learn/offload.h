// Where a program's next run is expected to take less time: on a device of this machine, or on a server's.
//
// The paper's idea is to move a kernel to the server only if that gains: if the kernel's time there, and that of the transfers, is
// less than its time here. Nothing is known of a program's kernels when it asks for platforms, so what counts is what its earlier
// runs have shown: how long a run waited for each device, how often it waited for an answer, and how much data it moved. The link
// is measured when the program asks.
//
// A run on a server's device takes its computing time there and what the link costs now:
//
//   compute + (round trips x the link's round trip + bytes / the link's rate) x what the link really took of that, last time
//
// The last factor is below 1 where data is compressed or moves while the device computes. For the link over which the run was
// measured the prediction is what was measured.
//
// Source: "GPGPU task management ... virtual machines" (cited in plan/cut.h) and its remote server.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"

namespace cleave::learn {

// As measured between the program and the server.
struct Link {
  base::Nanoseconds round_trip{0};
  double bytes_per_second = 0;  // 0: not known, and taken for no limit
};

// What a run has sent to its device and back.
struct Traffic {
  std::uint64_t round_trips = 0;  // calls that wait for an answer
  std::uint64_t bytes = 0;        // in both directions
};

base::Nanoseconds cost_of(const Link& link, const Traffic& traffic);

// What is known of a program's runs on one device.
struct RunCost {
  Traffic traffic;               // of the last run
  base::Nanoseconds compute{0};  // without the link: of the fastest runs
  base::Nanoseconds link{0};     // what the link took of the last run's time; 0 for a device of this machine
  base::Nanoseconds link_cost{0};  // and what it was expected to take: cost_of()
  unsigned runs = 0;               // up to kRunsKept
};

// Of two runs at least one finds the kernels compiled.
inline constexpr unsigned kRunsToKnow = 2;
inline constexpr unsigned kRunsKept = 1000;
// A device elsewhere is to be this much faster at least: a link may fail, and times are noisy.
inline constexpr double kMargin = 0.9;

// A run that waited so long for its device; `link` is that to the server, empty for a device of this machine.
RunCost cost_of_run(base::Nanoseconds waited, const Traffic& traffic, const std::optional<Link>& link);

// What is known after `run` that was known before as `old`. Noise only ever adds: shorter times count at once, longer ones bit by
// bit. A run that moves more than twice as much, or less than half, is another piece of work, and the old ones are forgotten.
RunCost updated(const std::optional<RunCost>& old, const RunCost& run);

base::Nanoseconds predict(const RunCost& known, const std::optional<Link>& link);

// A device on which the program may run.
struct OffloadCandidate {
  std::optional<Link> link;  // to its server; empty for a device of this machine
  bool reachable = true;
  std::optional<RunCost> known;
};

enum class OffloadReason : std::uint8_t {
  unreachable,     // no server answers: local
  nothing_learnt,  // no device of this machine has run this program often enough: local
  link_too_slow,   // what the link would cost is known, and too much: local
  trial,           // the link would cost less than the run here: remote, to learn how fast the device is
  slower,          // local
  faster,          // remote
};

struct OffloadDecision {
  OffloadReason reason = OffloadReason::nothing_learnt;
  bool remote_first = false;
  base::Nanoseconds local{0};   // the best prediction here; 0: nothing is known
  base::Nanoseconds remote{0};  // and there; of a trial what the link costs
  // The indices of the candidates with a link: the best first, unreachable ones last. Equal ones keep their order.
  std::vector<std::size_t> remotes;
};

// The rule. A device that has not run the program often enough is taken to compute in no time, so that it is tried, a few runs
// long, wherever the link alone does not speak against it. May throw std::bad_alloc.
OffloadDecision decide_offload(std::span<const OffloadCandidate> candidates);

// For users: "remote, 12.1 ms expected, 40.7 ms here".
std::string describe(const OffloadDecision& decision);

}  // namespace cleave::learn
