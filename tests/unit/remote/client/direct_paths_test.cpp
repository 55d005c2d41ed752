// Which ways between servers are tried again when.
#include "remote/client/multi_server/direct_paths.h"

#include <gtest/gtest.h>

namespace cleave::remote::client::multi_server {
namespace {

using namespace std::chrono_literals;

TEST(DirectPaths, WhatHasFailedIsNotTriedAgainAtOnce) {
  DirectPaths paths;
  const DirectPaths::Clock::time_point now{};
  EXPECT_TRUE(paths.may_try("a", "b", now));
  paths.failed("a", "b", now);
  EXPECT_FALSE(paths.may_try("a", "b", now));
  EXPECT_TRUE(paths.may_try("b", "a", now)) << "the other way";
  EXPECT_TRUE(paths.may_try("a", "c", now));
  EXPECT_FALSE(paths.may_try("a", "b", now + DirectPaths::kFirstPause - 1ms));
  EXPECT_TRUE(paths.may_try("a", "b", now + DirectPaths::kFirstPause));
}

TEST(DirectPaths, PausesBecomeLongerUntilItSucceeds) {
  DirectPaths paths;
  const DirectPaths::Clock::time_point now{};
  paths.failed("a", "b", now);
  paths.failed("a", "b", now);
  EXPECT_FALSE(paths.may_try("a", "b", now + DirectPaths::kFirstPause));
  EXPECT_TRUE(paths.may_try("a", "b", now + 2 * DirectPaths::kFirstPause));
  for (int i = 0; i < 100; ++i) paths.failed("a", "b", now);
  EXPECT_FALSE(paths.may_try("a", "b", now + DirectPaths::kLongestPause - 1ms));
  EXPECT_TRUE(paths.may_try("a", "b", now + DirectPaths::kLongestPause));
  paths.succeeded("a", "b");
  EXPECT_TRUE(paths.may_try("a", "b", now));
  paths.failed("a", "b", now);
  EXPECT_TRUE(paths.may_try("a", "b", now + DirectPaths::kFirstPause));
}

}  // namespace
}  // namespace cleave::remote::client::multi_server
