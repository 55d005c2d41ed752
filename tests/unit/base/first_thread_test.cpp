#include "base/threads/first_thread.h"

#include <pthread.h>
#include <thread>

#include <gtest/gtest.h>

namespace cleave::base {
namespace {

TEST(ThisThread, IsThePthread) {
  EXPECT_NE(pthread_equal(this_thread(), pthread_self()), 0);
  std::jthread([] { EXPECT_NE(pthread_equal(this_thread(), pthread_self()), 0); }).join();
}

TEST(FirstThread, IsTheFirstToAsk) {
  FirstThread first;
  EXPECT_TRUE(first.is());
  std::jthread([&] { EXPECT_FALSE(first.is()); }).join();
  EXPECT_TRUE(first.is());
  EXPECT_TRUE(first.is_known(this_thread()));
  first.reset();
  EXPECT_FALSE(first.is_known(this_thread()));
}

}  // namespace
}  // namespace cleave::base
