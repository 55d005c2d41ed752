#include "turns/grace.h"

#include <algorithm>
#include <cstdlib>

namespace cleave::turns {
namespace {

constexpr int kAll = 1024;
// Of fewer short gaps, waiting costs more device time than it saves.
constexpr int kWorthwhile = kAll / 4;
// What a clock and a wake-up add.
constexpr Ns kMargin = 50'000;

}  // namespace

void Grace::observe_gap(Ns gap) {
  gap = std::max<Ns>(gap, 0);
  const bool is_short = gap <= kLongest;
  short_share_ += ((is_short ? kAll : 0) - short_share_) / 8;
  if (!is_short) return;
  deviation_ += (std::abs(gap - mean_) - deviation_) / 8;
  mean_ += (gap - mean_) / 8;
}

Ns Grace::grace() const {
  if (short_share_ < kWorthwhile) return 0;
  return std::min(mean_ + 3 * deviation_ + kMargin, kLongest);
}

}  // namespace cleave::turns
