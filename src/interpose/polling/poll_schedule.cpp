#include "interpose/polling/poll_schedule.h"

#include <algorithm>

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;
using base::Nanoseconds;

// A shorter sleep costs about as much processor time as it saves.
constexpr Nanoseconds kShortest = 20us;

// Longer sleeps save nothing more.
constexpr Nanoseconds kLongest = 5ms;
constexpr Nanoseconds kLongestFar = 10ms;
constexpr Nanoseconds kLongestNear = 2ms;

// Shares of the time waited: without a prediction, well before a predicted end, and around it.
constexpr int kUsual = 96;
constexpr int kFar = 48;
constexpr int kNear = 512;

// "Around" is this share of the prediction, to either side.
constexpr int kAround = 16;

}  // namespace

Nanoseconds PollSchedule::next(Nanoseconds waited) const {
  const Nanoseconds window = predicted_ / kAround;
  const Nanoseconds until_near = predicted_ - window - waited;
  if (until_near > kShortest) {
    return std::clamp(std::min(waited / kFar, until_near), kShortest, kLongestFar);
  }
  if (waited < predicted_ + window) return std::clamp(waited / kNear, kShortest, kLongestNear);
  return std::clamp(waited / kUsual, kShortest, kLongest);
}

}  // namespace cleave::interpose
