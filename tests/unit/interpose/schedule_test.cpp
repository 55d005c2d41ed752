#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "interpose/polling/poll_schedule.h"
#include "interpose/waits/spin_detector.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;
using base::Nanoseconds;

// A wait for something that ends after `duration`, in virtual time; each sleep takes `over` too long.
struct PlayedSchedule {
  Nanoseconds late{0};
  unsigned looks = 0;
};
PlayedSchedule play(const PollSchedule& schedule, Nanoseconds duration, Nanoseconds over) {
  PlayedSchedule played;
  Nanoseconds now{0};
  for (; now < duration; ++played.looks) now += schedule.next(now) + over;
  played.late = now - duration;
  return played;
}

Nanoseconds bound(Nanoseconds duration) {
  return std::max(duration * 3 / 100, std::chrono::duration_cast<Nanoseconds>(60us));
}

TEST(PollSchedule, DetectsTheEndInTimeForAnyPrediction) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(3, 10);  // 1 µs to 10 s
  for (int i = 0; i < 3000; ++i) {
    const Nanoseconds duration(static_cast<std::int64_t>(std::pow(10, exponent(random))));
    const Nanoseconds predicted(static_cast<std::int64_t>(std::pow(10, exponent(random))));
    for (const PollSchedule& schedule : {PollSchedule(), PollSchedule(predicted), PollSchedule(duration)}) {
      ASSERT_LE(play(schedule, duration, 20us).late, bound(duration))
          << duration.count() << " ns, predicted " << predicted.count();
    }
  }
}

TEST(PollSchedule, LongWaitPollsRarely) {
  EXPECT_LT(play(PollSchedule(), 1s, 10us).looks, 1000U);
  EXPECT_LT(play(PollSchedule(1s), 1s, 10us).looks, 450U);
}

TEST(PollSchedule, CorrectPredictionDetectsTheEndSooner) {
  Nanoseconds late{0};
  for (Nanoseconds duration = 1s; duration < 1100ms; duration += 777us) {
    late = std::max(late, play(PollSchedule(1s), duration, 0us).late);
  }
  EXPECT_LE(late, 5ms);
  for (Nanoseconds duration = 950ms; duration < 1050ms; duration += 777us) {
    EXPECT_LE(play(PollSchedule(1s), duration, 0us).late, 2100us);
  }
}

TEST(SpinDetector, ThreeLongWaitsDetectSpinning) {
  SpinDetector burning;
  burning.add(2ms, 1900us);
  burning.add(2ms, 1900us);
  EXPECT_EQ(burning.verdict(), SpinDetector::Verdict::unknown);
  burning.add(2ms, 1900us);
  EXPECT_EQ(burning.verdict(), SpinDetector::Verdict::spins);
  for (int i = 0; i < 100; ++i) burning.add(1s, 0s);
  EXPECT_EQ(burning.verdict(), SpinDetector::Verdict::spins) << "it stands";
}

TEST(SpinDetector, OneVeryLongWaitDetectsSpinning) {
  SpinDetector burning;
  burning.add(1s, 1ms);
  EXPECT_EQ(burning.verdict(), SpinDetector::Verdict::sleeps);
}

TEST(SpinDetector, BriefSpinningIsIgnored) {
  SpinDetector burning;
  for (int i = 0; i < 100; ++i) burning.add(200us, 200us);
  EXPECT_EQ(burning.verdict(), SpinDetector::Verdict::unknown) << "short waits say nothing";
  for (int i = 0; i < 3; ++i) burning.add(10ms, 200us);
  EXPECT_EQ(burning.verdict(), SpinDetector::Verdict::sleeps);
}

TEST(SpinDetector, PartialShareOfABusyCpuIsSpinning) {
  SpinDetector burning;
  for (int i = 0; i < 3; ++i) burning.add(1s, 200ms);
  EXPECT_EQ(burning.verdict(), SpinDetector::Verdict::spins);
}

}  // namespace
}  // namespace cleave::interpose
