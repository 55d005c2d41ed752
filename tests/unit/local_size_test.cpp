#include "plan/local_size.h"

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

constexpr LocalLimits kLimits{.group = 1024, .multiple = 32, .items = {1024, 1024, 64}};

NDRange range_of(unsigned dims, Extent global) {
  NDRange range;
  range.dims = dims;
  range.global = global;
  return range;
}

TEST(LocalSize, DividesEvenlyAndLeavesGroupsForTheSlices) {
  for (std::size_t n = 32; n < 20000; n += 32) {
    const auto local = choose_local_size(range_of(1, {n, 1, 1}), kLimits, 8);
    if (!local) continue;
    EXPECT_EQ(n % (*local)[0], 0U);
    EXPECT_EQ((*local)[0] % 32, 0U);
    EXPECT_LE((*local)[0], 1024U);
    EXPECT_GE(n / (*local)[0], 8U);
  }
}

TEST(LocalSize, PicksTheLargestMultipleThatFits) {
  EXPECT_EQ(choose_local_size(range_of(1, {1 << 20, 1, 1}), kLimits, 20), (Extent{1024, 1, 1}));
  EXPECT_EQ(choose_local_size(range_of(2, {64, 4096, 1}), kLimits, 20), (Extent{64, 16, 1}));
}

TEST(LocalSize, NoSuitableDivisorGivesNone) {
  EXPECT_FALSE(choose_local_size(range_of(1, {1'000'003, 1, 1}), kLimits, 20));
}

TEST(LocalSize, RespectsDeviceLimits) {
  const LocalLimits narrow{.group = 64, .multiple = 8, .items = {16, 8, 1}};
  const auto local = choose_local_size(range_of(3, {64, 64, 64}), narrow, 4);
  ASSERT_TRUE(local);
  EXPECT_LE((*local)[0], 16U);
  EXPECT_LE((*local)[1], 8U);
  EXPECT_LE((*local)[2], 1U);
  EXPECT_LE(items(*local), 64U);
}

}  // namespace
}  // namespace cleave::plan
