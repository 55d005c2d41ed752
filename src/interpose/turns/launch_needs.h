// What this process's launches and waits say about its need of turns on one device, while turns are taken only where somebody needs
// them (turns/need.h, docs/turns.md).
//
// note_wait() is thread-safe and lock-free; the rest needs the caller's lock. Nothing throws.
#pragma once

#include <atomic>

#include "base/opencl.h"
#include "turns/need.h"
#include "turns/needs_by_company.h"
#include "turns/turns.h"

namespace cleave::interpose {

class LaunchNeeds {
 public:
  // A launch that is about to be made.
  struct Launch {
    cl_command_queue queue = nullptr;
    turns::Need need = turns::Need::none;  // for what is known of the launch itself
    turns::Ns expected = 0;                // how long it takes; 0: unknown
    turns::Ns piece = 0;                   // what of it cannot be cut, if that is known
    bool is_never_measured = false;        // then `expected` is a guess
    bool in_turns = false;                 // turns are taken now
    turns::Ns turn_waits = 0;              // for how long the process has waited for turns, ever
    turns::Turns::Others others;           // which others are at work, and what of theirs cannot be cut
  };
  struct Answer {
    turns::Need launch =
        turns::Need::none;  // for the launch itself, and since launches have not been measured for long
    turns::WorkNeed::Verdict waits = turns::WorkNeed::Verdict::unchanged;
    turns::Ns piece = 0;  // what others have to wait for; 0: nothing new
  };
  Answer launched(const Launch& launch, turns::Ns now) noexcept;

  // Whether a wait that came now would say nothing, since it would be for too many launches, nor would it after more of them.
  [[nodiscard]] bool is_stream() const { return launches_ > turns::WorkNeed::kMostLaunches; }

  // A wait of the program has ended: for everything on `queue`, or, if that is null, for something.
  void note_wait(cl_command_queue queue, turns::Ns now) noexcept {
    latest_wait_.store(now, std::memory_order_relaxed);
    const bool is_for_launch = queue == nullptr || queue == latest_queue_.load(std::memory_order_relaxed);
    if (is_for_launch && first_wait_.load(std::memory_order_relaxed) == 0)
      first_wait_.store(now, std::memory_order_relaxed);
  }

  // In a forked child.
  void forget() noexcept;

 private:
  turns::Ns note_unmeasured(const Launch& launch, turns::Ns waited, turns::Ns now) noexcept;

  // When the first wait of the program for its latest launch ended, and the latest wait since then; 0: there was none.
  std::atomic<turns::Ns> first_wait_{0};
  std::atomic<turns::Ns> latest_wait_{0};
  std::atomic<cl_command_queue> latest_queue_{nullptr};  // of that launch

  turns::NeedsByCompany work_;
  turns::UnknownNeed unknown_;
  turns::Ns launched_at_ = 0;
  unsigned launches_ = 0;               // since the latest wait
  turns::Ns first_launch_ = 0;          // when the first of them was made
  bool unmeasured_since_wait_ = false;  // none of them is ever measured
  turns::Ns unmeasured_ = 0;            // for how long launches have been made without turns
};

}  // namespace cleave::interpose
