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
#include "interpose/binaries.h"
#include "interpose/drivers.h"
#include "interpose/gate.h"
#include "interpose/helpers.h"
#include "interpose/records.h"
#include "interpose/registry.h"
#include "interpose/timers.h"
#include "interpose/tracer.h"
#include "interpose/waits.h"
#include "learn/table.h"
#include "neighbours/neighbours.h"
#include "observe/counters.h"
#include "observe/summary.h"
#include "plan/mode.h"

namespace cleave::interpose {

class Process {
 public:
  Process(const Table& next, std::string face, std::string next_name, base::Configuration configuration,
          base::Clock& clock);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const Table next;             // what lies below
  Table table{};                // what programs use
  const std::string face;       // "drop-in", "layer" or "vendor library"
  const std::string next_name;  // what `next` leads to, for people
  const base::Configuration configuration;
  base::Clock& clock;
  neighbours::Neighbours neighbours;
  observe::Counters counters;
  observe::KernelCounters& unknown;  // counts launches of kernels without a record

  Registry<ProgramRecord> programs;
  Registry<KernelRecord> kernels;
  Registry<QueueRecord> queues;
  Registry<EventRecord> events;
  Registry<PendingRecord> pending;
  std::atomic<std::uint64_t> user_events{0};  // so far
  // Some user event has been set to an error: what waits for it fails, though the driver may not say so.
  std::atomic<bool> has_failed_user_event{false};
  Gates gates;
  Waits waits;
  // Null where nobody wants a trace. Stands before what holds events made through its table.
  const std::unique_ptr<Tracer> trace;
  Drivers drivers;
  Binaries binaries;
  HelperQueues helpers;
  // For the policies that learn (interpose/lessons.h); empty with the others.
  learn::Table lessons;
  Timers timers;
  Registry<Ticket> timed;  // events whose profiling information tells something

  [[nodiscard]] const base::Settings& settings() const { return configuration.settings; }

  // Whether launches are this object's to split: not if another face of Cleave lies between this one and the
  // driver, since that one does. Found out at the first launch and not before: only then is the loader below
  // sure to be ready for questions. Problems of the configuration are reported then, by the one whose
  // settings count.
  // The first launch also begins to ask for the neighbours, and enters the registry.
  bool in_charge();

  // The same for who is about to build a program: begins nothing.
  bool will_be_in_charge();

  // A face above this one splits. Whoever learns from that face that it does has this before.
  void stand_aside() { charge_.store(Charge::others, std::memory_order_release); }

  [[nodiscard]] observe::Circumstances circumstances() const;

  // Writes the summary to where the settings say, if there was any launch. Called at exit.
  void write_summary() noexcept;

  // A launch of this kernel, or of one without a record, has been handed on. Never fails.
  void count_whole(observe::KernelCounters& kernel, plan::Whole why) noexcept;
  void count_split(observe::KernelCounters& kernel, std::size_t slices, base::Nanoseconds added,
                   const plan::Way& way) noexcept;

  // Around fork(): no lock may be held by another thread meanwhile, and the child counts its own launches
  // only.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  enum class Charge : std::uint8_t { unknown, others, ours, begun };

  Charge find_out() noexcept;
  bool begin() noexcept;
  void unlock_all();

  std::atomic<Charge> charge_{Charge::unknown};
};

// The process's object. Requires: install() has been called; overridden functions are reached only through
// its table.
Process& process();

// The same, or null before install().
Process* current_process();

// Registers what is to be done around fork(). A face calls this as soon as it is loaded, since of several
// such handlers the first to be registered is the last to be called before a fork and the first after it:
// those of the program may call OpenCL then.
void watch_forks();

// Puts `made` in force; returns what was before. Only install() and tests call this.
Process* replace_process(Process* made);

}  // namespace cleave::interpose
