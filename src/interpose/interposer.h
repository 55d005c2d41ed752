// The state of the interposer: settings, the driver's table, records and counters. One object per process.
//
// Thread-safe. Created by install() and never destroyed, so that calls from static destructors and from threads that
// outlive main() still find it.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/settings/configuration.h"
#include "base/threads/fork_locks.h"
#include "interpose/costs/cost_feedback.h"
#include "interpose/costs/launch_timers.h"
#include "interpose/drivers/devices.h"
#include "interpose/drivers/probe_cache.h"
#include "interpose/explain/kernel_findings.h"
#include "interpose/launch/feeder.h"
#include "interpose/launch/repeated_launches.h"
#include "interpose/limits/memory_limits.h"
#include "interpose/policies/policy.h"
#include "interpose/programs/known_binaries.h"
#include "interpose/queues/gate.h"
#include "interpose/queues/helper_queues.h"
#include "interpose/state/face.h"
#include "interpose/state/records.h"
#include "interpose/state/split_owner.h"
#include "interpose/trace/tracer.h"
#include "interpose/turns/turn_devices.h"
#include "interpose/waits/wait.h"
#include "interpose/waits/wait_statistics.h"
#include "limits/live_limits.h"
#include "neighbours/neighbours.h"
#include "observe/counters.h"
#include "observe/summary.h"
#include "plan/mode.h"

namespace cleave::interpose {

// Owns the parts of the interposer. Overridden functions access them through interposer() and pass on only what the
// functions that they call need; no other unit depends on this class.
class Interposer {
  base::ForkLocks forks_;  // the parts below register their locks here

 public:
  Interposer(const Table& next, Face face, base::Configuration configuration, base::Clock& clock);
  Interposer(const Interposer&) = delete;
  Interposer& operator=(const Interposer&) = delete;

  const base::Configuration configuration;
  base::Clock& clock;

  const Table next;  // the table below: a loader, a driver or a simulation
  Table table{};     // the table that programs use
  const Face face;

  limits::LiveLimits limits;
  SplitOwner owner;
  neighbours::Neighbours neighbours;
  observe::Counters counters;
  const KernelRecord unknown_kernel;  // what is known of kernels without a record, and counts their launches
  KernelFindings findings;
  ObjectRecords records;
  Devices devices;
  MemoryLimits memory;
  Gates gates;
  WaitStatistics wait_statistics;
  LaunchTimers launch_timers;
  RepeatedLaunches repeated;
  // Null without CLEAVE_TRACE. Declared before members that hold events created through its table.
  const std::unique_ptr<Tracer> trace;
  ProbeCache drivers;
  KnownBinaries binaries;
  HelperQueues helpers;
  CostFeedback costs;
  const std::unique_ptr<Policy> policy;
  TurnDevices turns;
  const std::unique_ptr<Policy> turn_slices;
  Feeder feeder;
  const WaitContext waits;

  [[nodiscard]] const base::Settings& settings() const { return configuration.settings; }

  // Whether this interposer splits launches (SplitOwner). The first call, at the first launch, also starts the query
  // for neighbours, enters the registry and loads measured costs.
  bool begin_splitting() { return owner.has_begun() || (!owner.is_another() && begin()); }

  // Without explanations.
  [[nodiscard]] observe::SummaryContext summary_context() const;
  // Why launches of these kernels were not split.
  [[nodiscard]] observe::Explanations explanations(
      const std::vector<observe::Counters::Named>& kernels) const;

  // The process exits: writes what was counted to the places that the settings name, if there was a launch, and ends
  // the threads that run in parallel with the program. Calls may still come.
  void end() noexcept;
  void write_summary(bool without_launches = false, bool may_open = true) noexcept;

  // The program enqueues a command, other than a launch that may be split, on this queue.
  void note_command(cl_command_queue queue) {
    wait_statistics.of(queue).note_work();
    launch_timers.begin(queue, clock);
  }

  // A launch of this kernel, or of one without a record, has been forwarded or split.
  void count_unsplit(observe::KernelCounters& kernel, plan::UnsplitReason why) noexcept {
    kernel.count_unsplit(static_cast<std::size_t>(why));
    neighbours.entry().count_unsplit();
  }
  void count_split(observe::KernelCounters& kernel, std::size_t slices, base::Nanoseconds added,
                   const plan::LaunchMethod& method) noexcept;

  // The child of a fork counts its own launches and waits.
  void before_fork() { forks_.before_fork(); }
  void after_fork_in_parent() { forks_.after_fork_in_parent(); }
  void after_fork_in_child();

 private:
  bool begin() noexcept;
  void write_statistics(const std::vector<observe::Counters::Named>& kernels,
                        const observe::SummaryContext& summary_context, bool may_open) const;
  std::unique_ptr<Tracer> make_tracer();

  bool in_child_ = false;  // of a fork
};

// The interposer of the process. Requires: install() has been called, which is certain in overridden functions.
Interposer& interposer();

// The same, or null before install().
Interposer* current_interposer();

// Registers the handlers around fork(). A face calls this when it is loaded: handlers that are registered first run
// last before a fork and first after it, so the program's own handlers may call OpenCL.
void register_fork_handlers();

// Replaces the interposer of the process and returns the former one. Only for install() and tests.
Interposer* replace_interposer(Interposer* made);

}  // namespace cleave::interpose
