// Threads for builds. They are started as needed, and joined at the end of this object's life, which waits for running
// builds; a worker process ends without that.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/threads/mutex.h"

namespace cleave::remote::server {

class BuildThreads {
 public:
  BuildThreads() = default;
  BuildThreads(const BuildThreads&) = delete;
  BuildThreads& operator=(const BuildThreads&) = delete;
  ~BuildThreads();

  // Runs `work` on one of the threads. False: too many builds are queued.
  bool run(std::function<void()> work);

  bool is_busy();

 private:
  static constexpr std::size_t kMaxThreads = 4;
  static constexpr std::size_t kMaxQueued = 1024;

  void work();

  base::Mutex mutex_;
  base::CondVar wake_;
  std::deque<std::function<void()>> queued_ CLEAVE_GUARDED_BY(mutex_);
  std::vector<std::thread>
      threads_;  // added with the mutex; joined by the destructor, when nothing adds any more
  bool stopping_ CLEAVE_GUARDED_BY(mutex_) = false;
  std::size_t idle_ CLEAVE_GUARDED_BY(mutex_) = 0;
};

}  // namespace cleave::remote::server
