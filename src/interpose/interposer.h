// The one object for the whole process: the settings in force, the table below, the records and the counters.
//
// Thread-safe. Made by install(), never destroyed, so that calls from static destructors and from threads
// that outlive main() find it.
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

  const Table next;             // what lies below
  Table table{};                // what programs use
  const std::string face;       // "drop-in", "layer" or "vendor library"
  const std::string next_name;  // what `next` leads to, for people
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
  std::atomic<std::uint64_t> user_events_created{0};  // so far
  // Some user event has been set to an error: what waits for it fails, though the driver may not say so.
  std::atomic<bool> has_failed_user_event{false};
  Gates gates;
  WaitStatistics wait_statistics;
  // Null where nobody wants a trace. Stands before what holds events made through its table.
  const std::unique_ptr<Tracer> trace;
  ProbeCache drivers;
  KnownBinaries binaries;
  HelperQueues helpers;
  // For the policies that learn (interpose/launch/cost_feedback.h); empty with the others.
  learn::CostTable costs;
  LaunchTimers launch_timers;
  RecordMap<MeasuredLaunch> measured_events;  // events whose profiling information tells something

  [[nodiscard]] const base::Settings& settings() const { return configuration.settings; }

  // Whether launches are this object's to split: not if another face of Cleave lies between this one and the
  // driver, since that one does. Found out at the first launch and not before: only then is the loader below
  // sure to be ready for questions. Problems of the configuration are reported then, by the one whose
  // settings count.
  // The first launch also begins to ask for the neighbours, and enters the registry.
  bool begin_splitting();

  // The same for who is about to build a program: begins nothing.
  bool is_split_owner();

  // A face above this one splits. Whoever learns from that face that it does has this before.
  void stand_aside() { split_owner_.store(SplitOwner::another_interposer, std::memory_order_release); }

  [[nodiscard]] observe::SummaryContext summary_context() const;

  // Writes the summary to where the settings say, if there was any launch. Called at exit.
  void write_summary() noexcept;

  // A launch of this kernel, or of one without a record, has been handed on. Never fails.
  void count_unsplit(observe::KernelCounters& kernel, plan::UnsplitReason why) noexcept;
  void count_split(observe::KernelCounters& kernel, std::size_t slices, base::Nanoseconds added,
                   const plan::LaunchMethod& method) noexcept;

  // Around fork(): no lock may be held by another thread meanwhile, and the child counts its own launches
  // only.
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

// The process's object. Requires: install() has been called; overridden functions are reached only through
// its table.
Interposer& interposer();

// The same, or null before install().
Interposer* current_interposer();

// Registers what is to be done around fork(). A face calls this as soon as it is loaded, since of several
// such handlers the first to be registered is the last to be called before a fork and the first after it:
// those of the program may call OpenCL then.
void register_fork_handlers();

// Puts `made` in force; returns what was before. Only install() and tests call this.
Interposer* replace_interposer(Interposer* made);

}  // namespace cleave::interpose
