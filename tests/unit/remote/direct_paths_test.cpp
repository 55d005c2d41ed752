// Which ways between servers are tried again when.
#include "remote/client/multi_server/direct_paths.h"

#include <gtest/gtest.h>

namespace cleave::remote::client::multi_server {
namespace {

using namespace std::chrono_literals;

TEST(DirectPaths, WhatHasFailedIsNotTriedAgainAtOnce) {
  DirectPaths paths;
  const DirectPaths::Clock::time_point now{};
  EXPECT_TRUE(paths.may_try(0, 1, now));
  paths.failed(0, 1, now);
  EXPECT_FALSE(paths.may_try(0, 1, now));
  EXPECT_TRUE(paths.may_try(1, 0, now)) << "the other way";
  EXPECT_TRUE(paths.may_try(0, 2, now));
  EXPECT_FALSE(paths.may_try(0, 1, now + DirectPaths::kFirstPause - 1ms));
  EXPECT_TRUE(paths.may_try(0, 1, now + DirectPaths::kFirstPause));
}

TEST(DirectPaths, PausesBecomeLongerUntilItSucceeds) {
  DirectPaths paths;
  const DirectPaths::Clock::time_point now{};
  paths.failed(0, 1, now);
  paths.failed(0, 1, now);
  EXPECT_FALSE(paths.may_try(0, 1, now + DirectPaths::kFirstPause));
  EXPECT_TRUE(paths.may_try(0, 1, now + 2 * DirectPaths::kFirstPause));
  for (int i = 0; i < 100; ++i) paths.failed(0, 1, now);
  EXPECT_FALSE(paths.may_try(0, 1, now + DirectPaths::kLongestPause - 1ms));
  EXPECT_TRUE(paths.may_try(0, 1, now + DirectPaths::kLongestPause));
  paths.succeeded(0, 1);
  EXPECT_TRUE(paths.may_try(0, 1, now));
  paths.failed(0, 1, now);
  EXPECT_TRUE(paths.may_try(0, 1, now + DirectPaths::kFirstPause));
}

}  // namespace
}  // namespace cleave::remote::client::multi_server
