#include "neighbours/backoff.h"

#include <set>

#include <gtest/gtest.h>

namespace cleave::neighbours {
namespace {

TEST(Backoff, DoublesUpToItsMaximumWithJitterOfHalf) {
  Backoff backoff(1);
  base::Nanoseconds limit = Backoff::kInitialDelay;
  for (int i = 0; i < 20; ++i) {
    const base::Nanoseconds pause = backoff.next();
    EXPECT_GE(pause, limit / 2);
    EXPECT_LE(pause, limit);
    limit = std::min(limit * 2, Backoff::kMaxDelay);
  }
  EXPECT_EQ(limit, Backoff::kMaxDelay);
  backoff.reset();
  EXPECT_LE(backoff.next(), Backoff::kInitialDelay);
}

TEST(Backoff, DiffersBetweenSeeds) {
  std::set<base::Nanoseconds> pauses;
  for (std::uint64_t seed = 0; seed < 100; ++seed) pauses.insert(Backoff(seed).next());
  EXPECT_GT(pauses.size(), 90U);
}

}  // namespace
}  // namespace cleave::neighbours
