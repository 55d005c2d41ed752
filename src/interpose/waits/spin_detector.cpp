#include "interpose/waits/spin_detector.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

constexpr base::Nanoseconds kLong = 1ms;
constexpr unsigned kEnoughWaits = 3;
constexpr base::Nanoseconds kEnoughTime = 100ms;

// A spinning thread that competes for its processor gets only a share of it, so the threshold is low. A sleeping
// thread runs for a hundredth of the time or less.
constexpr int kShare = 10;

}  // namespace

void SpinDetector::add(base::Nanoseconds wall, base::Nanoseconds processor) noexcept {
  if (wall < kLong || verdict() != Verdict::unknown) return;
  const std::int64_t all = wall_.fetch_add(wall.count(), std::memory_order_relaxed) + wall.count();
  const std::int64_t run =
      processor_.fetch_add(processor.count(), std::memory_order_relaxed) + processor.count();
  const unsigned waits = waits_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (waits < kEnoughWaits && all < kEnoughTime.count()) return;
  verdict_.store(run > all / kShare ? Verdict::spins : Verdict::sleeps, std::memory_order_relaxed);
}

}  // namespace cleave::interpose
