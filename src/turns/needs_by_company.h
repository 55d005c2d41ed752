// Whether a process needs turns for its waits (WorkNeed), by the others that are at work: what has been found beside some of them
// says nothing of others. Where they change, their need is dropped at once, and what is known beside the present ones holds.
//
// Not thread-safe. No clock, no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "turns/need.h"

namespace cleave::turns {

class NeedsByCompany {
 public:
  // So many sets of others are remembered: the latest ones.
  static constexpr std::size_t kMost = 8;

  // `busy`: busy_others().
  WorkNeed::Verdict launched(const WorkNeed::Launch& launch, std::uint64_t busy, Ns now);

 private:
  struct Beside {
    std::uint64_t busy = 0;
    Ns latest = 0;
    WorkNeed need;
  };
  void change(std::uint64_t busy, Ns now);

  std::array<Beside, kMost> known_;
  std::size_t present_ = 0;
};

}  // namespace cleave::turns
