#include <gtest/gtest.h>

#include "monitor/log.h"

namespace cleave::monitor {
namespace {

using std::chrono::seconds;

TEST(RateLimiter, PassesTheFirstAndCountsSuppressed) {
  const RateLimiter::TimePoint start{seconds(100)};
  RateLimiter sparing(seconds(10));
  EXPECT_EQ(sparing.record(start), 1U);
  EXPECT_FALSE(sparing.record(start + seconds(1)));
  EXPECT_FALSE(sparing.record(start + seconds(9)));
  EXPECT_EQ(sparing.record(start + seconds(10)), 3U);
  EXPECT_FALSE(sparing.record(start + seconds(11)));
}

}  // namespace
}  // namespace cleave::monitor
