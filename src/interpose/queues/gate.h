// Keeps the slices of a launch together on their in-order queue. OpenCL lets several threads enqueue on one queue, and
// its commands run in order, so no other thread's command may get between two slices.
//
// Every call that enqueues something passes the queue's gate, and a split launch closes it while it enqueues slices.
// Closing never waits for threads inside (one of them may be in a blocking call that waits for this thread): if there
// is one, the launch is not split. Threads that arrive at a closed gate wait; the owner sees their number and stops
// pacing. The thread that made the launch is an exception if another one enqueues it (launch/feeder.h): in its own call
// it would have waited anyway.
//
// Queues are mapped to gates by address. If two queues share a gate, a launch is not split now and then.
//
// Mostly one thread enqueues on a queue, and each of its launches passes the gate. So the first thread to pass announces itself by
// plain stores, until another one closes the gate: that one makes all threads of the process pass a barrier first (membarrier),
// and from then on the first thread uses atomic additions, as all others do.
//
// Thread-safe. Passing costs two stores, or two atomic additions. Does not allocate.
//
// Source: membarrier(2), whose example is this algorithm.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "base/threads/first_thread.h"
#include "base/threads/this_thread.h"

namespace cleave::interpose {

class alignas(64) Gate {
 public:
  // How a thread has entered.
  enum class Entry : std::uint8_t { by_store, by_addition };

  // Waits while another thread has the gate closed. The owner passes: a driver may call the program back from within
  // an enqueue. The same thread passes the result to leave(), exactly once.
  [[nodiscard]] Entry enter() noexcept {
    const Entry entry = announce();
    return closed_.load(std::memory_order_seq_cst) == 0 ? entry : enter_closed(entry);
  }
  void leave(Entry entry) noexcept {
    if (entry == Entry::by_store) [[likely]] {
      first_inside_.store(first_inside_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    } else {
      inside_.fetch_sub(1, std::memory_order_seq_cst);
    }
  }
  void pass() noexcept { leave(enter()); }
  // The same, and the owner enqueues the rest of its launch at once, as it does for another thread of the program.
  void pass_urgently() noexcept {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    pass();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Closes the gate, for a launch that `caller` has made, if no thread is inside; returns whether it did. Waits for another
  // thread that has it closed.
  bool close(pthread_t caller = pthread_self()) noexcept;
  void open() noexcept;

  // The number of threads waiting to enter, without the caller. For the owner only.
  [[nodiscard]] const std::atomic<int>& waiting() const { return waiting_; }

  // For the child of a fork, which has one thread only, perhaps inside. `has_barrier`: threads can be made to pass one.
  void reset(bool has_barrier) noexcept;

 private:
  bool ours() const {
    return pthread_equal(owner_.load(std::memory_order_relaxed), base::this_thread()) != 0;
  }
  Entry announce() noexcept {
    if (stores_.load(std::memory_order_relaxed) == Stores::allowed && first_.is()) [[likely]] {
      base::add_unshared(first_inside_, 1);
      // For the compiler; the processor's barrier, where one is needed, is up to the thread that closes.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      // If so, the store comes before that barrier.
      if (stores_.load(std::memory_order_relaxed) == Stores::allowed) [[likely]]
        return Entry::by_store;
      base::add_unshared(first_inside_, -1);
    }
    inside_.fetch_add(1, std::memory_order_seq_cst);
    return Entry::by_addition;
  }
  bool is_empty() noexcept;
  Entry enter_closed(Entry entry) noexcept;
  void wait_until_open() noexcept;

  std::atomic<int> inside_{0};
  std::atomic<int> first_inside_{0};  // the first thread, by stores
  base::FirstThread first_;
  std::atomic<int> closed_{0};
  std::atomic<int> waiting_{0};
  // Whether the first thread may announce itself by stores. `ending`: no longer, but its earlier stores may not be
  // visible yet. Changed only by a thread that has closed the gate.
  enum class Stores : std::uint8_t { none, allowed, ending };
  std::atomic<Stores> stores_{Stores::none};
  std::atomic<pthread_t> owner_{};
  std::atomic<pthread_t> caller_{};
};

class Gates {
 public:
  // `may_close`: some launch may be split. If not, the process is not registered for the barrier, which takes milliseconds if it
  // has several threads already.
  explicit Gates(bool may_close) : may_close_(may_close) { reset(); }

  Gate& of(const void* queue) {
    return gates_[(reinterpret_cast<std::uintptr_t>(queue) * 0x9e3779b97f4a7c15U) >> (64U - kBits)];
  }
  // For the child of a fork.
  void reset() noexcept;

 private:
  static constexpr unsigned kBits = 10;
  const bool may_close_;
  std::array<Gate, std::size_t{1} << kBits> gates_;
};

// Inside a gate for the duration of a scope.
class GateGuard {
 public:
  explicit GateGuard(Gate& gate) : gate_(gate), entry_(gate.enter()) {}
  GateGuard(const GateGuard&) = delete;
  GateGuard& operator=(const GateGuard&) = delete;
  ~GateGuard() { gate_.leave(entry_); }

 private:
  Gate& gate_;
  const Gate::Entry entry_;
};

// Keeps a gate closed for the duration of a scope, if it could be closed.
class ExclusiveGate {
 public:
  // `caller`: the thread that has made the launch.
  explicit ExclusiveGate(Gate* gate, pthread_t caller = pthread_self())
      : gate_(gate), closed_(gate != nullptr && gate->close(caller)) {}
  ExclusiveGate(const ExclusiveGate&) = delete;
  ExclusiveGate& operator=(const ExclusiveGate&) = delete;
  ~ExclusiveGate() {
    if (closed_) gate_->open();
  }
  [[nodiscard]] bool is_exclusive() const { return closed_; }

 private:
  Gate* gate_;
  bool closed_;
};

}  // namespace cleave::interpose
