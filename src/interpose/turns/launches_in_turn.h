// The launches that threads of this process are making in its turn on a device, and by how much the process's weight counts for them.
//
// Externally synchronised.
#pragma once

#include <cstdint>

#include "turns/state.h"

namespace cleave::interpose {

// By how much the process's weight counts while it launches: by a quarter for queues of low priority (cl_khr_priority_hints).
// Those of high priority have no more than the others: what a process may have is not its own to say.
enum class LaunchWeight : std::uint8_t { whole, quarter };

class LaunchesInTurn {
 public:
  // One of whole weight counts from when it begins to wait for the turn, for the others' sake that wait with it.
  void wait(LaunchWeight weight) {
    if (weight == LaunchWeight::whole) ++important_;
    quartered_ = important_ == 0;
  }
  void give_up(LaunchWeight weight) {
    if (weight == LaunchWeight::whole && important_ > 0) --important_;
  }
  void begin(turns::Ns at) {
    if (count_++ == 0) since_ = at;
  }
  void end(LaunchWeight weight) {
    if (count_ > 0) --count_;
    give_up(weight);
    if (count_ > 0) quartered_ = important_ == 0;
  }

  [[nodiscard]] unsigned count() const { return count_; }
  // When the first of them began.
  [[nodiscard]] turns::Ns since() const { return since_; }
  // A quarter counts while only launches of low priority are made or wait.
  [[nodiscard]] std::uint32_t weight_divisor() const { return quartered_ ? 4 : 1; }

 private:
  unsigned count_ = 0;
  unsigned important_ = 0;  // of whole weight, also those that wait
  bool quartered_ = false;
  turns::Ns since_ = 0;
};

}  // namespace cleave::interpose
