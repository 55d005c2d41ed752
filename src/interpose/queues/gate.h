// Keeps the slices of a launch together on their in-order queue. OpenCL lets several threads enqueue on one queue, and
// its commands run in order, so no other thread's command may get between two slices.
//
// Every call that enqueues something passes the queue's gate, and a split launch closes it while it enqueues slices.
// Closing never waits for threads inside (one of them may be in a blocking call that waits for this thread): if there
// is one, the launch is not split. Threads that arrive at a closed gate wait; the owner sees their number and stops
// pacing. Not so for the thread whose launch it is, if another one enqueues that for it (launch/feeder.h): as in its own call it
// would wait anyway.
//
// Queues are mapped to gates by address. If two queues share a gate, a launch is not split now and then.
//
// Thread-safe. Passing costs two atomic additions. Does not allocate.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>

namespace cleave::interpose {

class alignas(64) Gate {
 public:
  // Waits while another thread has the gate closed. The owner passes: a driver may call the program back from within
  // an enqueue. Each enter() is paired with a leave().
  void enter() noexcept {
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (closed_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      enter_closed();
  }
  void leave() noexcept { inside_.fetch_sub(1, std::memory_order_seq_cst); }
  void pass() noexcept {
    enter();
    leave();
  }
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

  // For the child of a fork, in which the owner does not exist.
  void reset() noexcept;

 private:
  bool ours() const { return pthread_equal(owner_.load(std::memory_order_relaxed), pthread_self()) != 0; }
  void enter_closed() noexcept;
  void wait_until_open() noexcept;

  std::atomic<int> inside_{0};
  std::atomic<int> closed_{0};
  std::atomic<int> waiting_{0};
  std::atomic<pthread_t> owner_{};
  std::atomic<pthread_t> caller_{};
};

class Gates {
 public:
  Gate& of(const void* queue) {
    return gates_[(reinterpret_cast<std::uintptr_t>(queue) * 0x9e3779b97f4a7c15U) >> (64U - kBits)];
  }
  void reset() noexcept {
    for (Gate& gate : gates_) gate.reset();
  }

 private:
  static constexpr unsigned kBits = 10;
  std::array<Gate, std::size_t{1} << kBits> gates_;
};

// Inside a gate for the duration of a scope.
class GateGuard {
 public:
  explicit GateGuard(Gate& gate) : gate_(gate) { gate_.enter(); }
  GateGuard(const GateGuard&) = delete;
  GateGuard& operator=(const GateGuard&) = delete;
  ~GateGuard() { gate_.leave(); }

 private:
  Gate& gate_;
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
