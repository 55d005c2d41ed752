// How many virtual machines share the host: the number that the user sets, or the one that a thread keeps up
// to date from the sources that the settings name. docs/neighbours.md says what happens when.
//
// Thread-safe. A read is one relaxed atomic load.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/settings.h"
#include "neighbours/registry_entry.h"
#include "neighbours/source_poller.h"

namespace cleave::neighbours {

struct Report {
  enum class State : std::uint8_t {
    fixed,    // the user has set the count, or the policy needs none
    idle,     // nothing has been launched, so nobody has been asked
    known,    // what the sources say holds
    stale,    // one of them has been silent for too long: `neighbours.stale` stands in for it
    alone,    // none of them has ever given a count
    stopped,  // there is no thread to ask them: the system gave none
  };
  State state = State::idle;
  std::string source;  // as the user would write it
  std::uint64_t stale = 0;
  std::uint64_t changes = 0;
  struct Source {
    SourceStatus status;
    Freshness freshness = Freshness::never;
    base::Nanoseconds age{0};  // since it was last confirmed, if ever
  };
  std::vector<Source> sources;  // empty unless somebody is asked
};
const char* name(Report::State state);

class Neighbours {
 public:
  explicit Neighbours(const base::Settings& settings);
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;
  ~Neighbours();

  // Running VMs of the host, this one included; at least 1.
  [[nodiscard]] unsigned vms() const { return vms_.load(std::memory_order_relaxed); }

  // Begins to ask the sources, if the settings need them, and gives those that are near a moment to answer,
  // so that already the first launch follows them. Again does nothing.
  void ask() noexcept;

  // The first launch of the process is at hand: enters the registry, and asks. As ask().
  void begin() noexcept;

  // The process is about to exit: leaves the registry and ends the thread. Launches may go on; the count
  // stays.
  void end() noexcept;

  // Around fork(): nobody is inside meanwhile. The child forgets the parent's thread and entry; begin() makes
  // its own.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

  [[nodiscard]] Report report() const;

  // This process in the registry.
  RegistryEntry& entry() { return entry_; }

 private:
  void start();
  [[nodiscard]] std::vector<std::unique_ptr<Source>> make_sources() const;
  [[nodiscard]] StalenessRules rules() const { return {settings_.max_age, settings_.stale}; }
  void warn(const std::string& warning);

  const base::Settings& settings_;
  const bool needs_sources_;  // a count is needed and not set
  std::atomic<unsigned> vms_;
  RegistryEntry entry_;
  mutable std::mutex mutex_;  // guards the next two
  std::shared_ptr<SourcePoller> poller_;
  bool started_ = false;
  std::atomic<bool> ended_{false};
  std::atomic<bool> warned_{false};
};

}  // namespace cleave::neighbours
