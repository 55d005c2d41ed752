#include "learn/run_file.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace cleave::learn {
namespace {

RunLine run_line(std::uint64_t program, std::uint64_t device, std::int64_t compute) {
  RunLine line{program, device, {}};
  line.cost.traffic = {11, 22};
  line.cost.compute = base::Nanoseconds(compute);
  line.cost.link = base::Nanoseconds(3);
  line.cost.link_cost = base::Nanoseconds(4);
  line.cost.runs = 1;
  return line;
}

TEST(RunFile, RoundTrips) {
  const auto read = runs_of(format_run(run_line(UINT64_MAX, 7, 40'700'000)), UINT64_MAX);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].device, 7U);
  EXPECT_EQ(read[0].cost.runs, 1U);
  EXPECT_EQ(read[0].cost.compute.count(), 40'700'000);
  EXPECT_EQ(read[0].cost.link.count(), 3);
  EXPECT_EQ(read[0].cost.link_cost.count(), 4);
  EXPECT_EQ(read[0].cost.traffic.round_trips, 11U);
  EXPECT_EQ(read[0].cost.traffic.bytes, 22U);
}

TEST(RunFile, MalformedLinesAreSkippedIndividually) {
  const std::string good = format_run(run_line(1, 2, 300));
  const std::string line = format_run(run_line(1, 5, 123456));
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    std::string changed = line;
    changed[i] = changed[i] == '7' ? '8' : '7';
    const auto read = runs_of(changed + good, 1);
    ASSERT_EQ(read.size(), 1U) << changed;
    EXPECT_EQ(read[0].device, 2U);
    EXPECT_EQ(runs_of(line.substr(0, i) + "\n" + good, 1).size(), 1U) << i;
  }
}

TEST(RunFile, LineWithMoreTimeOfTheLinkThanItCostsIsRefused) {
  RunLine line = run_line(1, 2, 300);
  line.cost.link = base::Nanoseconds(5);
  EXPECT_TRUE(runs_of(format_run(line), 1).empty());
}

TEST(RunFile, RunUpdatesItsProgramAndDeviceAlone) {
  std::string text = with_run("", run_line(1, 2, 400));
  text = with_run(text, run_line(1, 3, 500));
  text = with_run(text, run_line(2, 2, 600));
  text = with_run(text, run_line(1, 2, 800));
  const auto first = runs_of(text, 1);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].device, 2U);
  EXPECT_EQ(first[0].cost.compute.count(), 500);
  EXPECT_EQ(first[0].cost.runs, 2U);
  EXPECT_EQ(first[1].cost.compute.count(), 500);
  ASSERT_EQ(runs_of(text, 2).size(), 1U);
  EXPECT_TRUE(runs_of(text, 3).empty());
}

TEST(RunFile, OldestLinesAreDropped) {
  std::string text;
  for (std::uint64_t program = 1; program <= kMaxRunLines; ++program)
    text += format_run(run_line(program, 1, 100));
  text = with_run(text, run_line(5000, 1, 100));
  EXPECT_TRUE(runs_of(text, 1).empty());
  EXPECT_EQ(runs_of(text, 2).size(), 1U);
  EXPECT_EQ(runs_of(text, 5000).size(), 1U);
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), kMaxRunLines);
}

}  // namespace
}  // namespace cleave::learn
