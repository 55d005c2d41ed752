#include "interpose/offload/run_meter.h"

#include <array>

#include <gtest/gtest.h>

namespace cleave::interpose {
namespace {

using base::Nanoseconds;

Nanoseconds at(int time) { return Nanoseconds(time); }

// Handles are compared only.
struct MeteredDevices {
  std::array<char, 2> places{};
  cl_device_id operator[](std::size_t index) { return reinterpret_cast<cl_device_id>(&places.at(index)); }
};

TEST(RunMeter, TimeCountsFromTheFirstCommandToTheEndOfTheWait) {
  RunMeter meter;
  meter.enqueue(at(10));
  meter.enqueue(at(12));
  meter.begin_wait(at(20));
  meter.end_wait(at(50));
  EXPECT_EQ(meter.waited(), at(40));
  EXPECT_EQ(meter.traffic().round_trips, 1U);
}

TEST(RunMeter, TimeBetweenWaitsAndCommandsDoesNotCount) {
  RunMeter meter;
  meter.begin_wait(at(0));
  meter.end_wait(at(5));
  meter.enqueue(at(100));
  meter.begin_wait(at(101));
  meter.end_wait(at(110));
  EXPECT_EQ(meter.waited(), at(15));
}

TEST(RunMeter, WaitsOfSeveralThreadsCountOnce) {
  RunMeter meter;
  meter.begin_wait(at(0));
  meter.begin_wait(at(10));
  meter.end_wait(at(20));
  meter.enqueue(at(25));
  meter.end_wait(at(30));
  EXPECT_EQ(meter.waited(), at(30));
  EXPECT_EQ(meter.traffic().round_trips, 2U);
}

TEST(RunMeter, CommandsThatNobodyWaitsForDoNotCount) {
  RunMeter meter;
  meter.enqueue(at(10));
  meter.move(100);
  meter.move(28);
  EXPECT_EQ(meter.waited(), at(0));
  EXPECT_EQ(meter.traffic().bytes, 128U);
}

TEST(RunMeter, OneDeviceIsKnownAndSeveralAreNone) {
  MeteredDevices devices;
  RunMeter meter;
  EXPECT_EQ(meter.device(), nullptr);
  meter.use(devices[0]);
  meter.use(devices[0]);
  EXPECT_EQ(meter.device(), devices[0]);
  meter.use(devices[1]);
  EXPECT_EQ(meter.device(), nullptr);
  meter.use(devices[1]);
  EXPECT_EQ(meter.device(), nullptr);
}

TEST(RunMeter, FailedRunHasNoDevice) {
  MeteredDevices devices;
  RunMeter meter;
  meter.use(devices[0]);
  meter.fail();
  EXPECT_EQ(meter.device(), nullptr);
}

}  // namespace
}  // namespace cleave::interpose
