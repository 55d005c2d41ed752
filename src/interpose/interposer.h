// The state of the interposer: settings, the driver's table, records and counters. One object per process.
//
// Thread-safe. Created by install() and never destroyed, so that calls from static destructors and from threads that
// outlive main() still find it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/configuration.h"
#include "base/opencl.h"
#include "interpose/drivers/probe_cache.h"
#include "interpose/launch/launch_timers.h"
#include "interpose/programs/known_binaries.h"
#include "interpose/queues/gate.h"
#include "interpose/queues/helper_queues.h"
#include "interpose/state/record_map.h"
#include "interpose/state/records.h"
#include "interpose/trace/tracer.h"
#include "interpose/waits/wait_statistics.h"
#include "learn/cost_table.h"
#include "neighbours/neighbours.h"
#include "observe/counters.h"
#include "observe/summary.h"
#include "plan/mode.h"

namespace cleave::interpose {

class Interposer {
 public:
  Interposer(const Table& next, std::string face, std::string next_name, base::Configuration configuration,
             base::Clock& clock);
  Interposer(const Interposer&) = delete;
  Interposer& operator=(const Interposer&) = delete;

  const Table next;             // the table below: a loader, a driver or a simulation
  Table table{};                // the table that programs use
  const std::string face;       // "drop-in", "layer" or "vendor library"
  const std::string next_name;  // what `next` leads to, for users
  const base::Configuration configuration;
  base::Clock& clock;
  neighbours::Neighbours neighbours;
  observe::Counters counters;
  observe::KernelCounters& unknown_kernel;  // counts launches of kernels without a record

  RecordMap<ProgramRecord> programs;
  RecordMap<KernelRecord> kernels;
  RecordMap<QueueRecord> queues;
  RecordMap<SplitEventRecord> split_events;
  RecordMap<PendingUserEvent> pending_user_events;
  std::atomic<std::uint64_t> user_events_created{0};
  // A user event has been set to an error: commands that wait for it fail, even if the driver does not report it.
  std::atomic<bool> has_failed_user_event{false};
  Gates gates;
  WaitStatistics wait_statistics;
  // Null without CLEAVE_TRACE. Declared before members that hold events created through its table.
  const std::unique_ptr<Tracer> trace;
  ProbeCache drivers;
  KnownBinaries binaries;
  HelperQueues helpers;
  // For policies that measure launches (interpose/launch/cost_feedback.h); empty with the others.
  learn::CostTable costs;
  LaunchTimers launch_timers;
  RecordMap<MeasuredLaunch> measured_events;  // events whose profiling times are measured

  [[nodiscard]] const base::Settings& settings() const { return configuration.settings; }

  // Whether this interposer splits launches. It does not if another face of Cleave lies between it and the driver,
  // since that one splits. Determined at the first launch, because only then the loader below is sure to answer;
  // problems of the configuration are reported then, by the interposer that splits. The first launch also starts
  // asking for neighbours and enters the registry.
  bool begin_splitting();

  // The same without starting anything, for calls before the first launch.
  bool is_split_owner();

  // A face above this one splits; it calls this through the function named kStandAside.
  void stand_aside() { split_owner_.store(SplitOwner::another_interposer, std::memory_order_release); }

  [[nodiscard]] observe::SummaryContext summary_context() const;

  // Writes the summary to the place that the settings name, if there was a launch. Called at exit.
  void write_summary() noexcept;

  // A launch of this kernel, or of one without a record, has been forwarded or split.
  void count_unsplit(observe::KernelCounters& kernel, plan::UnsplitReason why) noexcept;
  void count_split(observe::KernelCounters& kernel, std::size_t slices, base::Nanoseconds added,
                   const plan::LaunchMethod& method) noexcept;

  // Around fork(): all locks are held across it, and the child counts its own launches only.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  enum class SplitOwner : std::uint8_t { unknown, another_interposer, this_interposer, this_begun };

  SplitOwner find_split_owner() noexcept;
  bool begin() noexcept;
  void unlock_all();

  std::atomic<SplitOwner> split_owner_{SplitOwner::unknown};
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
