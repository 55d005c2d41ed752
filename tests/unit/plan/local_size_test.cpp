#include "plan/local_size.h"

#include <gtest/gtest.h>

#include "plan/pocl_local_size.h"

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

// Of PoCL 3.1's own function.
TEST(LocalSize, IsPoclsChoice) {
  constexpr LocalLimits kPocl{.group = 4096, .multiple = 8, .items = {4096, 4096, 4096}};
  const auto chosen = [&](unsigned dims, Extent global, std::size_t units) {
    return *pocl_local_size(range_of(dims, global), kPocl, units);
  };
  EXPECT_EQ(chosen(1, {4096, 1, 1}, 1), (Extent{4096, 1, 1}));
  EXPECT_EQ(chosen(1, {8192, 1, 1}, 1), (Extent{4096, 1, 1}));
  EXPECT_EQ(chosen(1, {9797, 1, 1}, 2), (Extent{101, 1, 1}));
  EXPECT_EQ(chosen(1, {40, 1, 1}, 16), (Extent{40, 1, 1}));
  EXPECT_EQ(chosen(1, {4096, 1, 1}, 16), (Extent{256, 1, 1}));
  EXPECT_EQ(chosen(1, {100003, 1, 1}, 4), (Extent{1, 1, 1}));
  EXPECT_EQ(chosen(2, {50, 194, 1}, 2), (Extent{50, 1, 1}));
  EXPECT_EQ(chosen(2, {640, 480, 1}, 2), (Extent{40, 1, 1}));
  EXPECT_EQ(chosen(2, {1920, 1080, 1}, 8), (Extent{120, 1, 1}));
  EXPECT_EQ(chosen(2, {37, 41, 1}, 64), (Extent{37, 41, 1}));
  EXPECT_EQ(chosen(3, {64, 64, 64}, 2), (Extent{64, 8, 8}));
  EXPECT_EQ(chosen(3, {96, 10, 6}, 96), (Extent{8, 2, 6}));
  EXPECT_EQ(chosen(3, {7, 11, 13}, 7), (Extent{1, 11, 13}));
  EXPECT_EQ(chosen(3, {5000, 3, 200}, 3), (Extent{1000, 1, 1}));
}

TEST(LocalSize, IsUnknownWherePoclFails) {
  constexpr LocalLimits kTooSmall{.group = 4, .multiple = 8, .items = {4, 4, 4}};
  EXPECT_FALSE(pocl_local_size(range_of(1, {16, 1, 1}), kTooSmall, 2));
}

}  // namespace
}  // namespace cleave::plan
