// Counts commands that did not end in time, to find out where holding the program back does harm.
//
// Externally synchronised.
#pragma once

#include <utility>

#include "turns/state.h"

namespace cleave::interpose {

class Stalls {
 public:
  // One more. `has_backlog`: what was enqueued without turns may be the cause. Returns whether the program is not to be held back any
  // more: after a few, none of them much later than the one before. Where a machine is too busy now and then, it is.
  bool add(turns::Ns at, bool has_backlog) {
    // It has waited for the backlog's end, perhaps: a command that never ends must not be waited for again and again.
    if (has_backlog && ++of_backlog_ <= kMaxOfBacklog) return false;
    if (at - std::exchange(latest_, at) > kForgotten) count_ = 0;
    return ++count_ >= kMax;
  }
  // A command has ended in time.
  void note_end() { of_backlog_ = 0; }

 private:
  static constexpr unsigned kMax = 3;
  static constexpr unsigned kMaxOfBacklog = 32;  // in a row
  static constexpr turns::Ns kForgotten = 60'000'000'000;

  unsigned count_ = 0;  // that are not forgotten
  turns::Ns latest_ = 0;
  unsigned of_backlog_ = 0;
};

}  // namespace cleave::interpose
