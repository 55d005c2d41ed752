#include "neighbours/own_use.h"

#include <gtest/gtest.h>

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

TEST(OwnUse, IsSurelyBusyAfterTwoBusyIntervals) {
  OwnUse use(0.2, 3s);
  use.sample(100s, 1s);  // the first says nothing
  EXPECT_EQ(use.next_sample(), 4s);
  EXPECT_FALSE(use.surely_busy());
  use.sample(103s, 4s);
  EXPECT_FALSE(use.surely_busy()) << "the monitor may have measured an earlier interval last";
  use.sample(106s, 7s);
  EXPECT_TRUE(use.surely_busy());
  use.sample(106s, 10s);
  EXPECT_FALSE(use.surely_busy());
}

TEST(OwnUse, IsNotSureNearTheShare) {
  OwnUse use(0.2, 3s);
  for (int i = 0; i < 5; ++i) use.sample(i * 660ms, i * 3s);  // 0.22 of a processor
  EXPECT_FALSE(use.surely_busy());
  for (int i = 5; i < 8; ++i) use.sample(i * 780ms, i * 3s);  // 0.26
  EXPECT_TRUE(use.surely_busy());
}

TEST(OwnUse, TimeThatRunsBackwardsIsNoUse) {
  OwnUse use(0, 3s);  // by this rule everything is busy
  use.sample(9s, 0s);
  use.sample(9s, 3s);
  use.sample(9s, 6s);
  EXPECT_TRUE(use.surely_busy());
  use.sample(8s, 9s);
  EXPECT_FALSE(use.surely_busy());
}

TEST(OwnUse, TheOwnMachineIsNotItsOwnNeighbour) {
  EXPECT_EQ(count_of_busy(5, 1, true), 1U) << "only this one is busy";
  EXPECT_EQ(count_of_busy(5, 3, true), 3U);
  EXPECT_EQ(count_of_busy(5, 3, false), 4U);
  EXPECT_EQ(count_of_busy(5, 0, false), 1U);
  EXPECT_EQ(count_of_busy(5, 0, true), 1U) << "the monitor has not noticed yet";
  EXPECT_EQ(count_of_busy(5, 5, false), 5U) << "this one is among those that run";
  EXPECT_EQ(count_of_busy(0, 0, false), 1U);
}

TEST(OwnUse, ReadsTheKernelsFigures) {
  EXPECT_EQ(parse_processor_time("cpu  100 20 3 9999 8888 7 5 600 9 1\ncpu0 1 2 3\n", 100), 1350ms);
  EXPECT_EQ(parse_processor_time("cpu  1 0 0 0 0 0 0", 100), 10ms);
  for (const char* text : {"", "cpu", "cpu0 1 2 3 4 5 6 7\n", "cpu  1 2 3\n", "cpu  1 x 3 4 5 6 7\n",
                           "cpu  99999999999999999999 0 0 0 0 0 0\n"}) {
    EXPECT_FALSE(parse_processor_time(text, 100)) << text;
  }
  const auto used = machine_processor_time();
  ASSERT_TRUE(used);
  EXPECT_GT(*used, 0s);
}

}  // namespace
}  // namespace cleave::neighbours
