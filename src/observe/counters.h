// What happened, counted: for each kernel name how many launches there were, how many were split into how
// many slices, and why the others stayed whole. A count is what was really handed to the driver: calls that
// failed are not in it.
//
// Thread-safe. Counting is a handful of relaxed atomic additions; finding a name's counters takes a lock and
// is done once a kernel object.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"

namespace cleave::observe {

// Reasons for staying whole are counted by number; their names are given by whoever reads the counters.
inline constexpr std::size_t kUnsplitReasonCount = 15;
// So are the reasons for going through one queue where several would have been used.
inline constexpr std::size_t kSingleQueueReasons = 7;

struct KernelStatistics {
  std::uint64_t launches = 0;
  std::uint64_t split = 0;
  std::uint64_t slices = 0;  // driver launches that split launches were made of
  std::array<std::uint64_t, kUnsplitReasonCount> unsplit{};
  std::uint64_t pipelined = 0;  // split launches that went over several queues
  std::array<std::uint64_t, kSingleQueueReasons> queued{};
  // Time that calls of split launches took beyond their first driver launch.
  base::Nanoseconds added{0};

  KernelStatistics& operator+=(const KernelStatistics& other);
};

// The counters of one kernel name.
class KernelCounters {
 public:
  void count_unsplit(std::size_t reason) noexcept;
  void count_split(std::size_t slices, base::Nanoseconds added) noexcept;
  void count_pipelined() noexcept;
  void count_queued(std::size_t reason) noexcept;
  [[nodiscard]] KernelStatistics statistics() const;
  void reset() noexcept;

 private:
  std::atomic<std::uint64_t> split_{0};
  std::atomic<std::uint64_t> slices_{0};
  std::atomic<std::uint64_t> added_{0};  // nanoseconds
  std::array<std::atomic<std::uint64_t>, kUnsplitReasonCount> whole_{};
  std::atomic<std::uint64_t> pipelined_{0};
  std::array<std::atomic<std::uint64_t>, kSingleQueueReasons> queued_{};
};

class Counters {
 public:
  struct Named {
    std::string name;
    KernelStatistics statistics;
  };

  // The counters of all kernels of that name. Never invalidated. A program that makes up new names without
  // end gets one set for all names from the 4097th on, called "(others)".
  KernelCounters& of(const std::string& name);

  // Under which name these counters are to be found; they are some of these.
  [[nodiscard]] std::string name_of(const KernelCounters& counters) const;

  // Sorted by name, without names that were never launched.
  [[nodiscard]] std::vector<Named> all() const;

  // For a forked child, whose launches are its own. Only while no other thread runs.
  void reset() noexcept;

  // For fork(): no other thread is inside while it is locked.
  std::mutex& lock() { return mutex_; }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, KernelCounters> by_name_;
};

}  // namespace cleave::observe
