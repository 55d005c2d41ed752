// What happened: the calls, the launches, the executions.
//
// Threads: under the lock of the DriverState.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "tests/sim/driver/core/functions.h"
#include "tests/sim/driver/types.h"

namespace cleave::sim {

class Record {
 public:
  // `keep`: otherwise only counts are kept.
  explicit Record(bool keep) : keep_(keep) {}

  // Whether anybody will read the text of a call.
  bool wants_text() const { return keep_ || observer != nullptr; }

  void count(Function function) { ++counts_[static_cast<std::size_t>(function)]; }
  // A call takes its place when it is entered and is filled in when it returns; callbacks may call in
  // between.
  std::shared_ptr<Call> enter(Function function, Nanoseconds at);
  void leave(const Call& call) const;

  std::uint64_t next_launch() { return ++launch_ids_; }
  void launched(const std::shared_ptr<Launch>& launch);
  void starts(const std::shared_ptr<Launch>& launch);

  std::vector<Call> log() const;
  std::vector<Launch> launches() const { return copy(launches_); }
  std::vector<Launch> executions() const { return copy(executions_); }
  std::size_t counted(Function function) const { return counts_[static_cast<std::size_t>(function)]; }
  void forget();

  std::function<void(const Call&)> observer;

 private:
  using Launches = std::vector<std::shared_ptr<Launch>>;
  static std::vector<Launch> copy(const Launches& launches);

  const bool keep_;
  std::array<std::size_t, function_count> counts_{};
  std::vector<std::shared_ptr<Call>> calls_;
  Launches launches_;
  Launches executions_;
  std::uint64_t launch_ids_ = 0;
};

}  // namespace cleave::sim
