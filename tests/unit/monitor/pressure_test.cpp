#include "monitor/hypervisor/pressure.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fake_hypervisor.h"

namespace cleave::monitor {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kBegin{1000s};

TEST(Pressure, IsTheShareOfTheWantedTimeThatWasNotGiven) {
  PressureMeter meter;
  meter.sample({{uuid_of(1), 0, 10s, 5s}, {uuid_of(2), 0, 3s, 0s}}, kBegin);
  EXPECT_FALSE(meter.pressure()) << "one sample says nothing";
  // One domain ran for 600 ms and waited for 300, the other ran for 100.
  meter.sample({{uuid_of(1), 0, 10600ms, 5300ms}, {uuid_of(2), 0, 3100ms, 0s}}, kBegin + 1s);
  ASSERT_TRUE(meter.pressure());
  EXPECT_DOUBLE_EQ(*meter.pressure(), 0.3);
}

TEST(Pressure, FollowsAStepWithTheDocumentedTimeConstant) {
  for (const auto period : {100ms, 500ms}) {
    PressureMeter meter;
    meter.sample_host(0s, kBegin);
    meter.sample_host(0s, kBegin + period);
    EXPECT_DOUBLE_EQ(*meter.pressure(), 0);
    auto elapsed = 0ms;
    while (elapsed < 1s) {
      elapsed += period;
      meter.sample_host(elapsed, kBegin + period + elapsed);
    }
    EXPECT_NEAR(*meter.pressure(), 1 - std::exp(-1), 1e-9) << period.count();
    while (elapsed < 3s) {
      elapsed += period;
      meter.sample_host(elapsed, kBegin + period + elapsed);
    }
    EXPECT_GT(*meter.pressure(), 0.95) << period.count();
  }
}

TEST(Pressure, DomainsThatDoNothingHaveNone) {
  PressureMeter meter;
  meter.sample({{uuid_of(1), 0, 10s, 5s}}, kBegin);
  // As long waited as run, but next to nothing of both.
  meter.sample({{uuid_of(1), 0, 10001ms, 5001ms}}, kBegin + 1s);
  EXPECT_NEAR(*meter.pressure(), 0.001 / PressureMeter::kIdleShare, 1e-9);
}

TEST(Pressure, DomainsThatComeOrRestartCountFromTheirNextSampleOn) {
  PressureMeter meter;
  meter.sample({}, kBegin);
  meter.sample({{uuid_of(1), 0, 1s, 900s}}, kBegin + 1s);
  EXPECT_DOUBLE_EQ(*meter.pressure(), 0);
  meter.sample({{uuid_of(1), 0, 500ms, 0s}}, kBegin + 2s);
  EXPECT_DOUBLE_EQ(*meter.pressure(), 0);
  meter.sample({{uuid_of(1), 0, 500ms, 1s}}, kBegin + 3s);
  EXPECT_GT(*meter.pressure(), 0.5);
}

TEST(Pressure, VirtualProcessorsThatComeAndGoCountByThemselves) {
  PressureMeter meter;
  // The second has a long past: without it, and with it again, nothing jumps.
  meter.sample({{uuid_of(1), 0, 1s, 0s}, {uuid_of(1), 1, 900s, 900s}}, kBegin);
  meter.sample({{uuid_of(1), 0, 1800ms, 200ms}}, kBegin + 1s);
  EXPECT_DOUBLE_EQ(*meter.pressure(), 0.2);
  meter.sample({{uuid_of(1), 0, 2600ms, 400ms}, {uuid_of(1), 1, 901s, 901s}}, kBegin + 2s);
  EXPECT_DOUBLE_EQ(*meter.pressure(), 0.2);
  // It was plugged in anew: its times have begun again. The other's still count.
  meter.sample({{uuid_of(1), 0, 3400ms, 600ms}, {uuid_of(1), 1, 1s, 0s}}, kBegin + 3s);
  EXPECT_DOUBLE_EQ(*meter.pressure(), 0.2);
  meter.sample({{uuid_of(1), 0, 4200ms, 800ms}, {uuid_of(1), 1, 1800ms, 200ms}}, kBegin + 4s);
  EXPECT_DOUBLE_EQ(*meter.pressure(), 0.2);
}

TEST(Pressure, TheTwoSourcesAreNotMixed) {
  PressureMeter meter;
  meter.sample_host(100s, kBegin);
  meter.sample({{uuid_of(1), 0, 1s, 1s}}, kBegin + 1s);
  EXPECT_FALSE(meter.pressure());
  meter.sample_host(900s, kBegin + 2s);
  EXPECT_FALSE(meter.pressure());
  meter.sample_host(900500ms, kBegin + 3s);
  EXPECT_DOUBLE_EQ(*meter.pressure(), 0.5);
  meter.sample_nothing();
  EXPECT_FALSE(meter.pressure());
}

TEST(Pressure, ReadsTheKernelsStallInformation) {
  EXPECT_EQ(parse_host_stall(
                "some avg10=95.23 avg60=96.22 avg300=63.86 total=317507053\nfull avg10=0.00 total=7\n"),
            317507053us);
  for (const char* text : {"", "some", "full avg10=0.00 total=7\n", "some avg10=1\nfull total=7\n",
                           "some total=x\n", "some total=-1\n", "some total=99999999999999999999\n"}) {
    EXPECT_FALSE(parse_host_stall(text)) << text;
  }
}

}  // namespace
}  // namespace cleave::monitor
