#include "monitor/client_input.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "cleave/monitor.h"

namespace cleave::monitor {
namespace {

TEST(ClientInput, RecognizesAPing) {
  ClientInput input;
  EXPECT_TRUE(input.take("ping\n").ping);
  EXPECT_TRUE(input.take("ping\r\n").ping);
  EXPECT_TRUE(input.take("hello\nping\nhello").ping);
}

TEST(ClientInput, RecognizesAFragmentedPing) {
  ClientInput input;
  for (const char* piece : {"p", "in", "", "g"}) EXPECT_FALSE(input.take(piece).ping);
  EXPECT_TRUE(input.take("\n").ping);
}

TEST(ClientInput, IgnoresOtherLines) {
  ClientInput input;
  for (const char* line :
       {"\n", "pin\n", "ping \n", "pingo\n", "ping\rx\n", "PING\n", "xping\n", "ping\r\r\n"}) {
    const auto received = input.take(line);
    EXPECT_FALSE(received.ping) << line;
    EXPECT_FALSE(received.too_long) << line;
  }
}

TEST(ClientInput, LineLengthIsLimitedAcrossFragments) {
  const std::string longest(CLEAVE_MONITOR_LINE_MAX - 1, 'x');
  ClientInput input;
  EXPECT_FALSE(input.take(longest + '\n').too_long);
  EXPECT_FALSE(input.take(longest).too_long);
  EXPECT_TRUE(input.take("x").too_long);
  ClientInput another;
  unsigned taken = 0;
  while (!another.take("x").too_long) ++taken;
  EXPECT_EQ(taken, longest.size());
}

TEST(ClientInput, RandomBytesAreHandled) {
  std::mt19937 random(27460);
  for (int round = 0; round < 1000; ++round) {
    ClientInput input;
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = random() % 8 == 0 ? '\n' : static_cast<char>(random());
    const bool long_line = [&] {
      std::size_t length = 0;
      for (const char byte : bytes) {
        length = byte == '\n' ? 0 : length + 1;
        if (length == CLEAVE_MONITOR_LINE_MAX) return true;
      }
      return false;
    }();
    EXPECT_EQ(input.take(bytes).too_long, long_line);
  }
}

}  // namespace
}  // namespace cleave::monitor
