// Launches that stayed unsplit, and why. Programs make the same launch over and over, and where the decision follows from its kernel,
// queue, sizes and the number of VMs alone, it is the same again until a record changes: it is found here in two cache lines,
// where deciding anew takes the code and data of some forty, seldom in the processor's caches when a driver has just run.
//
// Whatever is found here is safe: a launch may always stay unsplit.
//
// Thread-safe and lock-free: readers notice if an entry changes meanwhile. Does not allocate.
//
// Source: H. Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", with loads that acquire in place of a fence.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "interpose/launch/call.h"
#include "observe/counters.h"
#include "plan/decide.h"

namespace cleave::interpose {

class RepeatedLaunches {
 public:
  struct Known {
    observe::KernelCounters* counters;
    plan::UnsplitReason why;
  };

  // What was added for the same launch with the same number of VMs and the same count of changes of the records. Requires:
  // call.is_readable().
  [[nodiscard]] std::optional<Known> find(const Call& call, unsigned vms,
                                          std::uint64_t changes) const noexcept {
    if (call.offset != nullptr) return std::nullopt;
    const Entry& entry = entries_[index_of(call)];
    const std::uint64_t version = entry.version.load(kAcquire);
    const std::uint64_t shape = entry.shape.load(kAcquire);
    bool same = entry.kernel.load(kAcquire) == call.kernel && entry.queue.load(kAcquire) == call.queue &&
                entry.changes.load(kAcquire) == changes && (shape & ~kReason) == shape_of(call, vms);
    for (std::size_t d = 0; same && d < call.dims; ++d) {
      same = entry.sizes[2 * d].load(kAcquire) == call.global[d] &&
             (call.local == nullptr || entry.sizes[2 * d + 1].load(kAcquire) == call.local[d]);
    }
    const Known known{entry.counters.load(kAcquire), static_cast<plan::UnsplitReason>(shape & kReason)};
    const bool unchanged = version % 2 == 0 && entry.version.load(std::memory_order_relaxed) == version;
    return same && unchanged ? std::optional(known) : std::nullopt;
  }

  // Takes the place of another launch. Without effect if the reason may be gone next time, if the launch has an offset, if the number of
  // its work-groups was the driver's choice and is part of the reason, or if another thread is adding one in its place. `changes` was read before what the decision follows from. Requires: call.is_readable().
  void add(const Call& call, unsigned vms, std::uint64_t changes, const Known& known) noexcept;

  // For the child of a fork, in which a thread that was adding one is missing.
  void reset() noexcept;

 private:
  static constexpr auto kAcquire = std::memory_order_acquire;
  static constexpr unsigned kBits = 6;
  static constexpr std::uint64_t kReason = 0xff;

  // For launches with one dimension it is one cache line.
  struct alignas(64) Entry {
    std::atomic<std::uint64_t> version{0};  // odd while it is being written
    std::atomic<cl_kernel> kernel{nullptr};
    std::atomic<cl_command_queue> queue{nullptr};
    std::atomic<std::uint64_t> changes{0};
    std::atomic<std::uint64_t> shape{0};  // the reason is in its lowest byte
    std::atomic<observe::KernelCounters*> counters{nullptr};
    std::array<std::atomic<std::size_t>, 6> sizes{};  // global and local, for each dimension
  };

  static std::size_t index_of(const Call& call) {
    const std::uint64_t all = reinterpret_cast<std::uintptr_t>(call.kernel) +
                              3 * reinterpret_cast<std::uintptr_t>(call.queue) + 5 * call.global[0];
    return (all * 0x9e3779b97f4a7c15U) >> (64U - kBits);
  }
  static std::uint64_t shape_of(const Call& call, unsigned vms) {
    return std::uint64_t{vms} << 32U | std::uint64_t{call.local != nullptr} << 16U |
           std::uint64_t{call.dims} << 8U;
  }

  std::array<Entry, std::size_t{1} << kBits> entries_;
};

}  // namespace cleave::interpose
