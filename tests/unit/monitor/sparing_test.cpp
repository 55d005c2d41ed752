#include <gtest/gtest.h>

#include "monitor/log.h"

namespace cleave::monitor {
namespace {

using std::chrono::seconds;

TEST(Sparing, LetsTheFirstThroughAndCountsTheRest) {
  const Sparing::TimePoint start{seconds(100)};
  Sparing sparing(seconds(10));
  EXPECT_EQ(sparing.happened(start), 1U);
  EXPECT_FALSE(sparing.happened(start + seconds(1)));
  EXPECT_FALSE(sparing.happened(start + seconds(9)));
  EXPECT_EQ(sparing.happened(start + seconds(10)), 3U);
  EXPECT_FALSE(sparing.happened(start + seconds(11)));
}

}  // namespace
}  // namespace cleave::monitor
