// Between which servers contents go directly, for all contexts of the process. Where that has failed it is not tried again for a
// while: an attempt may take as long as a connection takes to fail.
//
// Thread-safe; the mutex is a leaf. Takes the time as an argument. May throw std::bad_alloc.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "base/threads/mutex.h"

namespace cleave::remote::client::multi_server {

class DirectPaths {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kFirstPause{60};
  static constexpr std::chrono::seconds kLongestPause{600};

  // Whether to try it, from one server to another: their addresses, as this process reaches them.
  [[nodiscard]] bool may_try(const std::string& from, const std::string& to, Clock::time_point now) {
    const base::MutexLock lock(mutex_);
    const auto found = failed_.find({from, to});
    return found == failed_.end() || now >= found->second.until;
  }
  void succeeded(const std::string& from, const std::string& to) {
    const base::MutexLock lock(mutex_);
    failed_.erase({from, to});
  }
  // Each time in a row the pause is twice as long.
  void failed(const std::string& from, const std::string& to, Clock::time_point now) {
    const base::MutexLock lock(mutex_);
    Failure& failure = failed_[{from, to}];
    failure.pause = std::clamp(2 * failure.pause, kFirstPause, kLongestPause);
    failure.until = now + failure.pause;
  }

  // For fork().
  void lock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void unlock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  struct Failure {
    std::chrono::seconds pause{0};
    Clock::time_point until{};
  };
  base::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Failure> failed_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::client::multi_server
