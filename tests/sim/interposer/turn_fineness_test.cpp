// How finely launches are cut in turns where slices that fill the device by their size are longer than they should be, and how they
// are kept back.

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "tests/sim/interposer/turn_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

// One that holds at most 128 work-groups of 16 work-items, so that the launch below is cut into four slices that
// fill it two at a time.
sim::Options small_gpu() { return kit::with(default_driver(), &sim::Options::compute_units, 1); }

base::Settings limited_by_size() {
  base::Settings settings = default_settings();
  settings.min_items.reset();
  settings.launch = base::LaunchMode::pipelined;
  return settings;
}

class FinenessTest : public TurnTest {
 protected:
  static constexpr std::size_t kGroup = 16;
  static constexpr std::size_t kGroups = kItems / kGroup;
  static constexpr std::size_t kUsual = 4;

  FinenessTest() : TurnTest(base::TurnMode::on, small_gpu(), limited_by_size()) {
    std::string problem;
    EXPECT_TRUE(urgent.enter(problem)) << problem;
  }

  // The device executes so many groups of the kernel at a time, for 4 ms.
  void device_holds(std::size_t groups) {
    driver.cost("add", [groups](const sim::Launch& launch) {
      const std::size_t waves = (launch.global[0] / kGroup + groups - 1) / groups;
      return base::Nanoseconds(4ms) * static_cast<int>(waves);
    });
  }

  // While somebody of a higher class asks for the device now and then. Returns the largest number of slices of these launches, since
  // one is cut as usual now and then.
  std::size_t most_slices(int launches) {
    std::size_t most = 0;
    for (int i = 0; i < launches; ++i, ++launched) {
      EXPECT_TRUE(urgent.begin());
      urgent.end();
      driver.forget();
      EXPECT_EQ(cl.launch(queue, kernel, {items, kGroup}), CL_SUCCESS);
      EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
      await_feeder();
      most = std::max(most, driver.launches().size());
    }
    return most;
  }
  // Whether there are so many in the end. What is measured varies where the machine is busy.
  bool has_in_the_end(std::size_t slices) {
    return kit::eventually([&] { return most_slices(10) == slices; });
  }

  std::size_t items = kItems;
  int launched = 0;
  turns::Turns urgent{
      forks, kit::with(beside(folder.path(), driver), &turns::Options::priority, turns::Priority::high)};
};

TEST_F(FinenessTest, AKernelOfWhichTheDeviceHoldsFewGroupsIsCutFiner) {
  device_holds(kGroups / kUsual / 2);
  EXPECT_TRUE(has_in_the_end(2 * kUsual));
  expect_each_item_ran(launched);
  expect_device_is_given_back();
}

TEST_F(FinenessTest, AKernelThatFillsTheDeviceIsNot) {
  device_holds(kGroups / kUsual);
  most_slices(20);
  EXPECT_TRUE(has_in_the_end(kUsual));
  expect_each_item_ran(launched);
  expect_device_is_given_back();
}

TEST_F(FinenessTest, NoFinerThanAKernelCanNeed) {
  driver.cost("add", [](const sim::Launch& launch) {
    return base::Nanoseconds(4us) * static_cast<int>(launch.global[0]);  // slices cost nothing
  });
  EXPECT_TRUE(has_in_the_end(8 * kUsual));
  expect_device_is_given_back();
}

// The same kernel with other data, say.
TEST_F(FinenessTest, FinerSlicesAreGivenUpWhereTheyCostMore) {
  device_holds(kGroups / kUsual / 2);
  ASSERT_TRUE(has_in_the_end(2 * kUsual));
  device_holds(kGroups / kUsual);
  EXPECT_TRUE(has_in_the_end(kUsual));
  expect_device_is_given_back();
}

// By their size the device holds all of its groups at once.
class ResidentTest : public FinenessTest {
 protected:
  ResidentTest() { items = kItems / 2; }
};

TEST_F(ResidentTest, WhatTakesSeveralWavesIsCut) {
  device_holds(kGroups / 2 / 8);
  EXPECT_TRUE(has_in_the_end(8));
  expect_device_is_given_back();
}

TEST_F(ResidentTest, WhatTakesOneWaveIsNot) {
  device_holds(kGroups / 2);
  most_slices(20);
  EXPECT_TRUE(has_in_the_end(1));
  expect_device_is_given_back();
}

TEST_F(ResidentTest, NorIsWhatTakesNotLong) {
  driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(2ms); });
  EXPECT_EQ(most_slices(20), 1U);
  expect_device_is_given_back();
}

TEST_F(ResidentTest, NoFinerThanItsGroupsCanBeSharedOut) {
  driver.cost("add", [](const sim::Launch& launch) {
    return base::Nanoseconds(8us) * static_cast<int>(launch.global[0]);  // slices cost nothing
  });
  EXPECT_TRUE(has_in_the_end(32));
  expect_device_is_given_back();
}

// Whether requests of others have been noticed at that time varies.
TEST_F(FinenessTest, ALongSliceIsKeptBackUntilTheOneBeforeIsHalfOver) {
  driver.cost("add", [](const sim::Launch& launch) {
    return base::Nanoseconds(1us) * static_cast<int>(launch.global[0]);
  });
  EXPECT_TRUE(kit::eventually([&] {
    most_slices(1);
    const auto slices = driver.launches();
    bool are_kept_back = slices.size() >= kUsual;
    for (std::size_t i = 2; i < slices.size(); ++i) {
      const auto before = slices[i - 1].ended - slices[i - 1].started;
      const bool is_late = slices[i].queued >= slices[i - 1].ended - before * 6 / 10;
      const bool is_early = slices[i].queued <= slices[i - 1].ended;  // else the device would be idle
      are_kept_back &= is_late && is_early;
    }
    return are_kept_back;
  }));
  expect_device_is_given_back();
}

}  // namespace
}  // namespace cleave
