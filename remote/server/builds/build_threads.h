// Threads for what takes long and is not a command: builds. They begin with the first one.
//
// Thread-safe. Its end waits for the work that has begun; a worker process does not wait but ends.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cleave::remote::server {

class BuildThreads {
 public:
  BuildThreads() = default;
  BuildThreads(const BuildThreads&) = delete;
  BuildThreads& operator=(const BuildThreads&) = delete;
  ~BuildThreads();

  // False: too much is waiting already.
  bool run(std::function<void()> work);

  // Whether there is work that has not ended.
  bool is_busy();

 private:
  static constexpr std::size_t kMaxThreads = 4;
  static constexpr std::size_t kMaxQueued = 1024;

  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queued_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
  std::size_t idle_ = 0;
};

}  // namespace cleave::remote::server
