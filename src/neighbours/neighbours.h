// The number of virtual machines that share the host: set by the user, or kept current by a thread that polls the
// sources named in the settings (docs/neighbours.md).
//
// Thread-safe. Reading the count is one relaxed atomic load.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "neighbours/registry_entry.h"
#include "neighbours/restraint.h"
#include "neighbours/source_poller.h"

namespace cleave::neighbours {

struct Report {
  enum class State : std::uint8_t {
    fixed,    // the user has set the count, or the policy needs none
    idle,     // no launch yet, so the sources are not polled
    known,    // the counts are fresh
    stale,    // a count is stale: the last one holds
    alone,    // no source has had a count yet
    stopped,  // the polling thread could not be started
  };
  State state = State::idle;
  std::string source;  // as the user would write it
  std::uint64_t stale = 0;
  std::uint64_t changes = 0;
  // If the policy follows the pressure: that, in thousandths, while it is known, and the restraint.
  std::optional<unsigned> pressure;
  std::optional<unsigned> restraint;
  struct Source {
    SourceStatus status;
    Freshness freshness = Freshness::never;
    base::Nanoseconds age{0};  // since the last confirmation, if any
  };
  std::vector<Source> sources;  // empty unless sources are polled
};
const char* name(Report::State state);

class Neighbours {
 public:
  Neighbours(base::ForkLocks& forks, const base::Settings& settings);
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;
  ~Neighbours();

  // The running VMs of the host, including this one; at least 1.
  [[nodiscard]] unsigned vms() const { return vms_.load(std::memory_order_relaxed); }

  // The restraint of this process (restraint.h): the policy `pressure`'s, else the highest.
  [[nodiscard]] unsigned restraint() const { return level_of(restraint_.load(std::memory_order_relaxed)); }

  // The same, for a launch or a wait that follows it: from its first use on it is in force.
  unsigned use_restraint() noexcept {
    const std::uint64_t restraint = restraint_.load(std::memory_order_relaxed);
    if (restraint != used_.load(std::memory_order_relaxed)) note_use(restraint);
    return level_of(restraint);
  }

  // Starts to poll the sources if the settings need them, and waits a moment for local ones, so that the first launch
  // already uses their counts. Does nothing when called again.
  void start_polling() noexcept CLEAVE_EXCLUDES(mutex_);

  // Before the first launch of the process: publishes the registry entry, and starts to poll.
  void start() noexcept CLEAVE_EXCLUDES(mutex_);

  // Before the process exits: removes the registry entry and ends the thread. Launches may continue; the count stays.
  void stop() noexcept;

  [[nodiscard]] Report report() const;

  // This process's entry in the registry.
  RegistryEntry& entry() { return entry_; }

 private:
  // The child of a fork drops the parent's thread; start() creates its own.
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);
  void start_poller() CLEAVE_REQUIRES(mutex_);
  [[nodiscard]] std::vector<std::unique_ptr<Source>> make_sources() const;
  // Both in one number, so that a level that recurs differs from the earlier one.
  static constexpr unsigned kLevelBits = 3;
  static unsigned level_of(std::uint64_t restraint) {
    return static_cast<unsigned>(restraint % (1U << kLevelBits));
  }
  static_assert(kMaxRestraint < 1U << kLevelBits);

  void note_use(std::uint64_t restraint) noexcept;
  base::Nanoseconds follow_pressure(std::optional<unsigned> thousandths, base::Nanoseconds now);
  void warn(const std::string& warning);
  void warn_of_bound(const std::string& source, unsigned vms);

  const base::Settings& settings_;
  const bool needs_sources_;  // the policy needs a count, and the user has set none, or it needs the pressure
  std::atomic<unsigned> vms_;
  std::atomic<std::uint64_t> restraint_{kMaxRestraint};  // the level, and above it the number of changes
  std::atomic<std::uint64_t> used_{kMaxRestraint};       // the newest that a launch or wait has used
  std::atomic<std::int64_t> used_at_{0};                 // when; of `used_` or a newer one
  std::atomic<int> pressure_{-1};                        // in thousandths; -1: not known
  std::optional<RestraintControl> control_;  // used by the poller's thread, and before there is one
  RegistryEntry entry_;
  mutable base::Mutex mutex_;
  std::shared_ptr<SourcePoller> poller_ CLEAVE_GUARDED_BY(mutex_);
  bool started_ CLEAVE_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> warned_{false};
};

}  // namespace cleave::neighbours
