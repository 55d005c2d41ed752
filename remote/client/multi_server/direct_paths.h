// Between which servers of a context contents go directly. Where that has failed it is not tried again for a while: an attempt may
// take as long as a connection takes to fail.
//
// Not thread-safe: for the thread of migrations. Takes the time as an argument.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <utility>

namespace cleave::remote::client::multi_server {

class DirectPaths {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kFirstPause{10};
  static constexpr std::chrono::seconds kLongestPause{600};

  // Whether to try it, from one shard of the context to another.
  [[nodiscard]] bool may_try(std::size_t from, std::size_t to, Clock::time_point now) const {
    const auto found = failed_.find({from, to});
    return found == failed_.end() || now >= found->second.until;
  }
  void succeeded(std::size_t from, std::size_t to) { failed_.erase({from, to}); }
  // Each time in a row the pause is twice as long.
  void failed(std::size_t from, std::size_t to, Clock::time_point now) {
    Failure& failure = failed_[{from, to}];
    failure.pause = std::clamp(2 * failure.pause, kFirstPause, kLongestPause);
    failure.until = now + failure.pause;
  }

 private:
  struct Failure {
    std::chrono::seconds pause{0};
    Clock::time_point until{};
  };
  std::map<std::pair<std::size_t, std::size_t>, Failure> failed_;
};

}  // namespace cleave::remote::client::multi_server
