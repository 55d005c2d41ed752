// What the front counts, in memory that it shares with the supervisor: so that it is not lost with a front that ends, and costs
// no messages.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/files/file_descriptor.h"

namespace cleave::remote::server {

struct FrontCounters {
  std::atomic<std::uint64_t> connections{0};   // accepted since the start
  std::atomic<std::uint64_t> refused{0};       // in the handshake
  std::atomic<std::uint64_t> rejected{0};      // closed before anything was read
  std::atomic<std::uint64_t> fetched_from{0};  // by other servers, with tickets
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class SharedCounters {
 public:
  // Throws std::system_error if there is no memory.
  static SharedCounters make();
  // Of the descriptor that make() has opened in another process. Null: it is not that.
  static std::unique_ptr<SharedCounters> map(base::FileDescriptor descriptor);

  SharedCounters(SharedCounters&& other) noexcept;
  SharedCounters& operator=(SharedCounters&&) = delete;
  ~SharedCounters();

  [[nodiscard]] FrontCounters& operator*() const { return *counters_; }
  [[nodiscard]] FrontCounters* operator->() const { return counters_; }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  SharedCounters(base::FileDescriptor descriptor, FrontCounters* counters)
      : descriptor_(std::move(descriptor)), counters_(counters) {}

  base::FileDescriptor descriptor_;
  FrontCounters* counters_;
};

}  // namespace cleave::remote::server
