#include "interpose/launch/repeated_launches.h"

#include <atomic>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "tests/kit/threads.h"

namespace cleave::interpose {
namespace {

using plan::UnsplitReason;
using Sizes = std::array<std::size_t, 3>;

constexpr unsigned kMachines = 5;
constexpr std::uint64_t kChanges = 7;

// What a launch is found by; the fields that a test does not name are those of the launch that was added.
struct Launch {
  std::uintptr_t queue = 0x1000;
  std::uintptr_t kernel = 0x2000;
  cl_uint dims = 2;
  std::optional<Sizes> offset = std::nullopt;
  Sizes global{64, 8, 1};
  std::optional<Sizes> local{{16, 4, 1}};

  [[nodiscard]] Call call() const {
    return {reinterpret_cast<cl_command_queue>(queue),
            reinterpret_cast<cl_kernel>(kernel),
            dims,
            offset ? offset->data() : nullptr,
            global.data(),
            local ? local->data() : nullptr,
            0,
            nullptr,
            nullptr,
            {}};
  }
};

struct RepeatedLaunchesTest : testing::Test {
  std::unique_ptr<RepeatedLaunches> repeated = std::make_unique<RepeatedLaunches>();
  observe::KernelCounters counters{"kernel"};

  void add(const Launch& launch, UnsplitReason why = UnsplitReason::small) {
    repeated->add(launch.call(), kMachines, kChanges, {&counters, why});
  }
  [[nodiscard]] bool finds(const Launch& launch, unsigned vms = kMachines,
                           std::uint64_t changes = kChanges) const {
    return repeated->find(launch.call(), vms, changes).has_value();
  }
};

TEST_F(RepeatedLaunchesTest, TheSameLaunchIsFound) {
  EXPECT_FALSE(finds({}));
  add({});
  const auto known = repeated->find(Launch().call(), kMachines, kChanges);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->counters, &counters);
  EXPECT_EQ(known->why, UnsplitReason::small);
}

TEST_F(RepeatedLaunchesTest, NoOtherLaunchIsFound) {
  add({});
  EXPECT_FALSE(finds({.queue = 0x1008}));
  EXPECT_FALSE(finds({.kernel = 0x2008}));
  EXPECT_FALSE(finds({.dims = 1}));
  EXPECT_FALSE(finds({.dims = 3}));
  EXPECT_FALSE(finds({.offset = Sizes{}}));
  EXPECT_FALSE(finds({.global = {128, 8, 1}}));
  EXPECT_FALSE(finds({.global = {64, 16, 1}}));
  EXPECT_FALSE(finds({.local = std::nullopt}));
  EXPECT_FALSE(finds({.local = Sizes{8, 4, 1}}));
  EXPECT_FALSE(finds({.local = Sizes{16, 8, 1}}));
  EXPECT_FALSE(finds({}, kMachines + 1));
  EXPECT_FALSE(finds({}, kMachines, kChanges + 1));
  EXPECT_TRUE(finds({}));
}

TEST_F(RepeatedLaunchesTest, SizesOfAllDimensionsCount) {
  const Launch added{.dims = 3, .global = {64, 8, 2}, .local = Sizes{16, 4, 2}};
  add(added);
  EXPECT_TRUE(finds(added));
  EXPECT_FALSE(finds({.dims = 3, .global = {64, 8, 4}, .local = Sizes{16, 4, 2}}));
  EXPECT_FALSE(finds({.dims = 3, .global = {64, 8, 2}, .local = Sizes{16, 4, 1}}));
}

TEST_F(RepeatedLaunchesTest, ALaunchWithoutALocalSizeIsNoneWithOne) {
  add({.local = std::nullopt});
  EXPECT_TRUE(finds({.local = std::nullopt}));
  EXPECT_FALSE(finds({}));
}

TEST_F(RepeatedLaunchesTest, WhatMayChangeByItselfIsNotKept) {
  for (const auto why :
       {UnsplitReason::measuring, UnsplitReason::costly, UnsplitReason::calm, UnsplitReason::shared,
        UnsplitReason::smaller_groups, UnsplitReason::late_failure, UnsplitReason::driver}) {
    add({}, why);
    EXPECT_FALSE(finds({})) << plan::name(why);
  }
}

// The driver may choose another local size with other arguments.
TEST_F(RepeatedLaunchesTest, WhatFollowsFromTheDriversLocalSizeIsNotKept) {
  for (const auto why : {UnsplitReason::one_group, UnsplitReason::resident}) {
    add({.local = std::nullopt}, why);
    EXPECT_FALSE(finds({.local = std::nullopt})) << plan::name(why);
    add({}, why);
    EXPECT_TRUE(finds({})) << plan::name(why);
  }
}

TEST_F(RepeatedLaunchesTest, LaunchesWithAnOffsetAreNotKept) {
  const Launch shifted{.offset = Sizes{1, 0, 0}};
  add(shifted);
  EXPECT_FALSE(finds(shifted));
}

TEST_F(RepeatedLaunchesTest, TheLatestTakesThePlace) {
  const Launch other{.global = {64, 16, 1}};  // its place follows from the first size
  add({});
  add(other);
  EXPECT_TRUE(finds(other));
  EXPECT_FALSE(finds({}));
}

// Two launches with the same place, each with counters of its own: whatever is found belongs together.
TEST_F(RepeatedLaunchesTest, PartsOfTwoAreNeverMixed) {
  constexpr int kTimes = 20'000;
  observe::KernelCounters others("other");
  const Launch other{.global = {64, 16, 1}, .local = Sizes{16, 8, 1}};
  std::atomic<int> found{0};
  std::atomic<int> mixed{0};
  std::atomic<bool> done{false};
  kit::on_threads(4, [&](std::size_t thread) {
    if (thread < 2) {
      for (int i = 0; i < kTimes || found < 100; ++i) {
        add({});
        repeated->add(other.call(), kMachines, kChanges, {&others, UnsplitReason::resident});
      }
      done = true;
    }
    while (!done) {
      const bool first = thread == 2;
      const auto known = repeated->find((first ? Launch() : other).call(), kMachines, kChanges);
      if (!known) continue;
      ++found;
      const bool right = first ? known->counters == &counters && known->why == UnsplitReason::small
                               : known->counters == &others && known->why == UnsplitReason::resident;
      if (!right) ++mixed;
    }
  });
  EXPECT_EQ(mixed.load(), 0);
}

TEST_F(RepeatedLaunchesTest, NothingIsLeftAfterAReset) {
  add({});
  repeated->reset();
  EXPECT_FALSE(finds({}));
  add({});
  EXPECT_TRUE(finds({}));
}

}  // namespace
}  // namespace cleave::interpose
