// What workers print to standard error, on its way into the log: its bounds.
#include "remote/server/supervisor/worker_text.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cleave::remote::server {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

struct WorkerTextTest : testing::Test {
  WorkerText text;
  std::vector<std::string> lines;
  WorkerText::Clock::time_point now{std::chrono::hours(1)};
  WorkerText::Log log = [this](std::string_view line) { lines.emplace_back(line); };

  void add(std::string_view bytes) { text.add(bytes, now, log); }
};

TEST_F(WorkerTextTest, LinesAreLoggedWhenTheyEnd) {
  add("a li");
  EXPECT_THAT(lines, SizeIs(0));
  add("ne\n\nanother\nthe la");
  EXPECT_THAT(lines, ElementsAre("a line", "", "another"));
  add("st");
  text.end(log);
  EXPECT_THAT(lines, ElementsAre("a line", "", "another", "the last"));
}

TEST_F(WorkerTextTest, LongLinesAreCut) {
  add(std::string(WorkerText::kLongestLine - 1, 'a'));
  add(std::string(10'000'000, 'b'));
  add("\nc\n");
  const std::string cut = std::string(WorkerText::kLongestLine - 1, 'a') + "b";
  EXPECT_THAT(lines, ElementsAre("(9999999 bytes more have been dropped)", cut, "c"));
}

TEST_F(WorkerTextTest, LineWithoutAnEndTakesNoMemory) {
  for (int i = 0; i < 1000; ++i) add(std::string(1 << 16, 'a'));
  text.end(log);
  EXPECT_THAT(lines, ElementsAre(std::string(WorkerText::kLongestLine, 'a'),
                                 "(" + std::to_string((1000 << 16) - WorkerText::kLongestLine) +
                                     " bytes more have been dropped)"));
}

TEST_F(WorkerTextTest, FloodIsDroppedAndCounted) {
  for (int i = 0; i < 100'000; ++i) add("12345\n");
  EXPECT_THAT(lines, SizeIs(WorkerText::kBurst));
  now += WorkerText::kInterval;
  add("after\n");
  const auto dropped = std::to_string((100'000 - WorkerText::kBurst) * 6);
  ASSERT_THAT(lines, SizeIs(WorkerText::kBurst + 2));
  EXPECT_EQ(lines[WorkerText::kBurst], "(" + dropped + " bytes more have been dropped)");
  EXPECT_EQ(lines.back(), "after");
  add("too soon\n");
  EXPECT_EQ(lines.back(), "after");
  text.end(log);
  EXPECT_EQ(lines.back(), "(9 bytes more have been dropped)");
}

}  // namespace
}  // namespace cleave::remote::server
