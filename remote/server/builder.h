// Threads for what takes long and is not a command: builds. They begin with the first one.
//
// Thread-safe. Never destroyed while work is under way: the process ends with the client.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace cleave::remote::server {

class Builder {
 public:
  // False: too much is waiting already.
  bool run(std::function<void()> work);

 private:
  static constexpr std::size_t kMostThreads = 4;
  static constexpr std::size_t kMostWaiting = 1024;

  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
};

}  // namespace cleave::remote::server
