// A thread of ours that enqueues the slices of one launch at a time while the program goes on.
//
// In a turn few slices are in flight, so a launch of 300 ms would keep the program in its call for 300 ms, which natively
// returns at once. If the program wants no event, the feeder makes the call instead: the program's call waits until the
// driver has accepted the first slice, and with it kernel, arguments and sizes, and returns.
//
// From then on, until the last slice is enqueued:
//   - The queue's gate is closed, so that what the program enqueues there next comes after the last slice.
//   - Calls that remove or change what the launch uses wait for it: the last release of the queue, a release of the
//     kernel or of any memory object, setting its arguments (the role `withdraws` in opencl/functions.def).
//   - If a later slice and the remainder are refused, the next call for this queue returns the error, as it does for a
//     command that has failed.
//
// Nothing is fed in programs that a driver may call back: the callback may run on the feeder's thread, and wait for the
// feeder or change what the launch uses. Nor is anything fed in programs that may use functions unknown to us.
//
// Thread-safe. Does not throw. No lock is held while a launch is fed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <pthread.h>
#include <thread>
#include <vector>

#include "base/opencl.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/queues/gate.h"

namespace cleave::interpose {

class Feeder {
 public:
  // The program's call, which waits.
  class Caller {
   public:
    [[nodiscard]] pthread_t thread() const { return thread_; }
    // Lets it return CL_SUCCESS. Only the first call has an effect.
    void may_return() noexcept { feeder_.accept(); }

   private:
    friend class Feeder;
    Caller(Feeder& feeder, pthread_t thread) : feeder_(feeder), thread_(thread) {}
    Feeder& feeder_;
    const pthread_t thread_;
  };

  // One launch. Destroyed on the feeder's thread.
  class Task {
   public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;
    // Enqueues it with the queue's gate closed. Returns the driver's answer.
    virtual cl_int run(Caller& caller) noexcept = 0;
  };

  Feeder(base::ForkLocks& forks, Gates& gates);
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;
  ~Feeder();

  // Runs `task` on the feeder's thread. Returns the task's result, or CL_SUCCESS as soon as the task says so. Empty if
  // the task has not run: there is no thread, or it feeds a launch that another thread made or is on another queue.
  std::optional<cl_int> run(cl_command_queue queue, cl_kernel kernel, std::unique_ptr<Task> task) noexcept;

  // Whether a launch whose call has returned is being fed, and whether it is on this queue or of this kernel. Stays
  // true for a moment after that. At most two loads.
  [[nodiscard]] bool feeds() const noexcept { return feeding_.load(std::memory_order_acquire); }
  [[nodiscard]] bool feeds(cl_command_queue queue) const noexcept {
    return feeds() && queue_.load(std::memory_order_relaxed) == queue;
  }
  [[nodiscard]] bool feeds(cl_kernel kernel) const noexcept {
    return feeds() && kernel_.load(std::memory_order_relaxed) == kernel;
  }

  // Waits until the launch that is being fed has been enqueued. If the waiting thread is not the one that made the launch, it is
  // enqueued at once (Gate). Returns at once on the feeder's own thread.
  void wait() noexcept { wait(false); }

  // To be called before a call for the queue. Waits for the queue's launch; returns, once, the error of a launch that
  // could not be enqueued completely, else CL_SUCCESS.
  [[nodiscard]] cl_int settle(cl_command_queue queue) noexcept {
    const bool is_idle = !feeds() && !has_errors_.load(std::memory_order_relaxed);
    return is_idle ? CL_SUCCESS : settle_busy(queue);
  }
  // The program releases its last reference to the queue: the same, but errors are not reported.
  void forget(cl_command_queue queue) noexcept {
    while (settle(queue) != CL_SUCCESS) {
    }
  }

  // Feeds nothing more. Enqueues at once what is being fed, and waits for that.
  void stop() noexcept;
  // The process exits: the same, and waits up to a second for what is being fed. Requires: nothing holds it back any
  // more.
  void end() noexcept;

 private:
  struct Failure {
    cl_command_queue queue;
    cl_int error;
  };

  bool has_thread() CLEAVE_REQUIRES(mutex_);
  void serve() noexcept;
  void run(std::unique_ptr<Task> task) noexcept CLEAVE_REQUIRES(mutex_);
  void accept() noexcept;
  void wait(bool urgently) noexcept;
  cl_int settle_busy(cl_command_queue queue) noexcept;
  cl_int take_error(cl_command_queue queue) noexcept;
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);

  Gates& gates_;
  std::atomic<bool> feeding_{false};
  std::atomic<cl_command_queue> queue_{nullptr};  // of the latest launch
  std::atomic<cl_kernel> kernel_{nullptr};
  std::atomic<pthread_t> served_by_{};
  std::atomic<bool> has_errors_{false};

  base::Mutex mutex_;
  base::CondVar wakes_;    // the feeder's thread
  base::CondVar changed_;  // the program's: a task has been accepted, or has ended
  bool ending_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool stopped_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool busy_ CLEAVE_GUARDED_BY(mutex_) = false;           // with a launch, accepted or not
  std::uint64_t number_ CLEAVE_GUARDED_BY(mutex_) = 0;    // of the latest launch
  pthread_t caller_ CLEAVE_GUARDED_BY(mutex_){};          // its thread
  std::unique_ptr<Task> task_ CLEAVE_GUARDED_BY(mutex_);  // to be run
  // On the stack of the program's call, while it waits.
  std::optional<cl_int>* answer_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
  std::vector<Failure> failures_ CLEAVE_GUARDED_BY(mutex_);
  std::unique_ptr<std::thread> thread_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::interpose
