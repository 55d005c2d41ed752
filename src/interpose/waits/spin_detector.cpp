#include "interpose/waits/spin_detector.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

constexpr base::Nanoseconds kLong = 1ms;
constexpr unsigned kEnough = 3;
constexpr base::Nanoseconds kEnoughTime = 100ms;

// A spinning thread that competes for its processor gets only a share of it, so the threshold is low. A sleeping
// thread runs for a hundredth of the time or less.
constexpr int kShare = 10;

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

void SpinDetector::add(base::Nanoseconds wall, base::Nanoseconds processor) noexcept {
  if (wall < kLong || verdict() != Verdict::unknown) return;
  const std::int64_t all = wall_.fetch_add(wall.count(), kRelaxed) + wall.count();
  const std::int64_t run = processor_.fetch_add(processor.count(), kRelaxed) + processor.count();
  const unsigned waits = waits_.fetch_add(1, kRelaxed) + 1;
  if (waits < kEnough && all < kEnoughTime.count()) return;
  verdict_.store(run > all / kShare ? Verdict::spins : Verdict::sleeps, kRelaxed);
}

}  // namespace cleave::interpose
