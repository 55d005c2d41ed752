// Counts per kernel name how many launches there were, how many were split into how many slices, and why the others
// were not. Only launches that the driver accepted are counted.
//
// Thread-safe. Counting takes a few relaxed atomic additions, or for an unsplit launch of the first thread that makes one a load and a
// store; looking up the counters of a name takes a lock, once per
// kernel object.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/threads/first_thread.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"

namespace cleave::observe {

// The number of reasons for not splitting. Counters index them by number; the reader supplies the names, which several
// reasons may share.
inline constexpr std::size_t kUnsplitReasonCount = 30;
// The number of reasons for using one queue instead of several.
inline constexpr std::size_t kSingleQueueReasonCount = 7;

struct KernelStatistics {
  std::uint64_t launches = 0;
  std::uint64_t split = 0;
  std::uint64_t slices = 0;  // driver launches that split launches consisted of
  std::array<std::uint64_t, kUnsplitReasonCount> unsplit{};
  std::uint64_t pipelined = 0;  // split launches on several queues
  std::array<std::uint64_t, kSingleQueueReasonCount> queued{};
  // Time that calls of split launches took after their first driver launch.
  base::Nanoseconds added{0};

  KernelStatistics& operator+=(const KernelStatistics& other);
};

// The counters of one kernel name.
class KernelCounters {
 public:
  explicit KernelCounters(std::string name) : name_(std::move(name)) {}

  // Never changes.
  [[nodiscard]] const std::string& name() const { return name_; }

  void count_unsplit(std::size_t reason) noexcept {
    if (first_.is()) [[likely]] {
      base::add_unshared(unsplit_by_first_[reason], 1);
    } else {
      unsplit_[reason].fetch_add(1, std::memory_order_relaxed);
    }
  }
  void count_split(std::size_t slices, base::Nanoseconds added) noexcept;
  void count_pipelined() noexcept;
  void count_queued(std::size_t reason) noexcept;
  [[nodiscard]] KernelStatistics statistics() const;
  void reset() noexcept;

 private:
  // In one cache line, with the commonest reasons. The thread that launches the kernel is mostly the same one.
  alignas(64) base::FirstThread first_;
  std::array<std::atomic<std::uint64_t>, kUnsplitReasonCount> unsplit_by_first_{};
  std::atomic<std::uint64_t> split_{0};
  std::atomic<std::uint64_t> slices_{0};
  std::atomic<std::uint64_t> added_{0};                                    // nanoseconds
  std::array<std::atomic<std::uint64_t>, kUnsplitReasonCount> unsplit_{};  // by other threads
  std::atomic<std::uint64_t> pipelined_{0};
  std::array<std::atomic<std::uint64_t>, kSingleQueueReasonCount> queued_{};
  const std::string name_;
};

class Counters {
 public:
  Counters() = default;
  explicit Counters(base::ForkLocks& forks) {
    forks.add<&Counters::reset_in_child>(base::ForkOrder::counters, mutex_, *this);
  }

  struct Named {
    std::string name;
    KernelStatistics statistics;
  };

  // The counters of all kernels of that name. Never invalidated. From the 4097th name on, all new names share one set,
  // "(others)".
  KernelCounters& of(const std::string& name);

  // Sorted by name, without names that were never launched.
  [[nodiscard]] std::vector<Named> all() const;

 private:
  // The child of a fork counts its own launches.
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::map<std::string, KernelCounters> by_name_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::observe
