// `remote.prefer = auto`: measures the program's run below the interposer, keeps what it cost in the cache folder, and orders
// platforms and servers' devices by what the next run is expected to take (learn/offload.h decides).
//
// Exists only where that is wanted; else the table below is used as it is, and nothing is measured.
//
// Thread-safe. One lock, which is not held while the driver is called.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fork_locks.h"
#include "base/mutex.h"
#include "base/opencl.h"
#include "base/settings.h"
#include "interpose/offload/cancellable_waits.h"
#include "interpose/offload/run_meter.h"
#include "learn/offload.h"
#include "learn/run_file.h"

namespace cleave::interpose {

// A platform, and the table that takes its handles without anything of Cleave's in between.
struct ListedPlatform {
  cl_platform_id id;
  const Table* table;
};

bool is_of_servers(const ListedPlatform& platform);

class Offload {
 public:
  // All must outlive this.
  Offload(base::ForkLocks& forks, const Table& below, const base::Settings& settings, base::Clock& clock);
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  // The table below, and the same with functions that measure; they reach this object through the interposer.
  [[nodiscard]] const Table& below() const { return below_; }
  [[nodiscard]] Table metered() const;

  // Whether the remote platforms among these should come first. Connects to servers that have been lost. May throw
  // std::bad_alloc.
  bool prefers_remote(const std::vector<ListedPlatform>& platforms);
  // The same where they are listed: what was decided first holds for the whole process.
  bool lists_remote_first(const std::vector<ListedPlatform>& platforms);
  // Puts a servers' platform's devices into the order that was decided on last.
  void order_devices(std::vector<cl_device_id>& devices) const;

  // For the metered functions.
  void enqueue(cl_command_queue queue) noexcept;
  void begin_wait() noexcept;
  void end_wait(bool good) noexcept;
  // The same for a call that waits only when it is made the first time for this object and number.
  bool begin_first_wait(const void* object, cl_uint number) noexcept;
  void move(std::uint64_t bytes) noexcept;
  void fail() noexcept;
  void forget_queues() noexcept;
  [[nodiscard]] CancellableWaits& cancellable_waits() { return cancellable_waits_; }

  // The process exits: keeps what the run has cost, if it used one device, of those that were listed, and no call failed.
  void save() noexcept;

  // For fork().
  void lock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void unlock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  struct KnownDevice {
    std::uint64_t key = 0;
    std::optional<learn::Link> link;
    bool reachable = true;
  };
  struct ListedDevice {
    cl_device_id id;
    KnownDevice known;
  };
  struct QueueOf {
    cl_command_queue queue = nullptr;
    cl_device_id device = nullptr;
  };

  static void end_cut_waits(void* count) noexcept;
  static std::vector<ListedDevice> list_devices(const std::vector<ListedPlatform>& platforms,
                                                cl_platform_info links);
  learn::OffloadDecision decide(const std::vector<ListedPlatform>& platforms, cl_platform_info links);
  void read_runs();
  [[nodiscard]] std::optional<learn::RunCost> cost_on(std::uint64_t device) const CLEAVE_REQUIRES(mutex_);
  void explain(const learn::OffloadDecision& decision);

  const Table below_;
  const base::Settings& settings_;
  base::Clock& clock_;
  CancellableWaits cancellable_waits_{end_cut_waits};

  mutable base::Mutex mutex_;
  RunMeter meter_ CLEAVE_GUARDED_BY(mutex_);
  std::array<QueueOf, 8> queues_ CLEAVE_GUARDED_BY(mutex_){};  // those used last
  std::size_t next_queue_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::array<std::uint64_t, 256> seen_ CLEAVE_GUARDED_BY(mutex_){};  // hashes of objects and numbers
  std::map<cl_device_id, KnownDevice> devices_ CLEAVE_GUARDED_BY(mutex_);
  std::vector<cl_device_id> remote_order_ CLEAVE_GUARDED_BY(mutex_);
  std::optional<std::vector<learn::RunLine>> runs_ CLEAVE_GUARDED_BY(mutex_);  // of this program, read once
  std::string explained_ CLEAVE_GUARDED_BY(mutex_);
  std::optional<bool> lists_remote_first_ CLEAVE_GUARDED_BY(mutex_);
};

// Null unless the settings want it.
std::unique_ptr<Offload> make_offload(base::ForkLocks& forks, const Table& below,
                                      const base::Settings& settings, base::Clock& clock);

}  // namespace cleave::interpose
