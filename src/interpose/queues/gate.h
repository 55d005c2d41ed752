// Keeps a split launch in one piece on its in-order queue. OpenCL lets several threads enqueue on one queue,
// and their commands run one after another; no command of another thread may therefore get between two
// slices.
//
// Whoever enqueues anything passes the queue's gate. A split closes it while its slices are enqueued. It
// never waits for those who are inside (one of them may be in a blocking call, waiting for this very thread):
// if there are any, the launch goes whole. Those who come while the gate is closed wait, and whoever closed
// it can see that and make haste.
//
// A gate serves all queues that fall to it by their address. That two share one costs a split now and then,
// no more.
//
// Thread-safe. Passing costs two atomic additions. Nothing is allocated.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>

namespace cleave::interpose {

class alignas(64) Gate {
 public:
  // Waits while another thread has the gate closed. The thread that closed it passes: a driver may call the
  // program back from within an enqueue. Each enter() is paired with a leave().
  void enter() noexcept;
  void leave() noexcept { inside_.fetch_sub(1, std::memory_order_seq_cst); }

  // Closes the gate if nobody is inside and says whether it did. Waits for another thread that has it closed.
  bool close() noexcept;
  void open() noexcept;

  // How many threads wait to enter. Only for the thread that closed the gate.
  [[nodiscard]] const std::atomic<int>& waiting() const { return waiting_; }

  // For the child of a fork, in which no other thread is left to open it.
  void reset() noexcept;

 private:
  bool ours() const { return pthread_equal(owner_.load(std::memory_order_relaxed), pthread_self()) != 0; }
  void wait_until_open() noexcept;

  std::atomic<int> inside_{0};
  std::atomic<int> closed_{0};
  std::atomic<int> waiting_{0};
  std::atomic<pthread_t> owner_{};
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

// Inside a gate for the length of a scope.
class GateGuard {
 public:
  explicit GateGuard(Gate& gate) : gate_(gate) { gate_.enter(); }
  GateGuard(const GateGuard&) = delete;
  GateGuard& operator=(const GateGuard&) = delete;
  ~GateGuard() { gate_.leave(); }

 private:
  Gate& gate_;
};

// Keeps a gate closed for the length of a scope, if it could be closed.
class ExclusiveGate {
 public:
  explicit ExclusiveGate(Gate* gate) : gate_(gate), closed_(gate != nullptr && gate->close()) {}
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
