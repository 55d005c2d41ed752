// The thread on which the program's own functions are called: for events, builds, contexts and ends of
// objects. It is never a thread that waits or reads, so these functions may call OpenCL, and what they do
// holds nobody up but each other.
//
// The thread starts with the first call. After fork() the child begins with none and an empty list.
//
// Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace cleave::remote::client {

class CallbackQueue {
 public:
  // Calls `function` soon, in the order of these calls. Where no thread can be started, calls it at once.
  void post(std::function<void()> function);

  void lock() { mutex_.lock(); }      // around fork()
  void unlock() { mutex_.unlock(); }  // in the parent
  void reset_in_child();              // in the child

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool running_ = false;
};

}  // namespace cleave::remote::client
