#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/cost_table.h"
#include "tests/kit/threads.h"

namespace cleave::learn {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Key kKey = 0x123456789abcdef0U;
constexpr Key kRelative = 77;

std::string name() { return "mm 5120x5120"; }

SliceAdvice ask(CostTable& table, std::size_t limit = 100) {
  return table.within_budget(kKey, 0.05, limit, Search::trials, name);
}

// Each slice beyond the first costs a thousandth.
base::Nanoseconds time_of(std::size_t slices) {
  return base::Nanoseconds(10'000'000 + 10'000 * (static_cast<std::int64_t>(slices) - 1));
}

void learn_costs(CostTable& table) {
  for (int i = 0; i < 12; ++i) {
    const SliceAdvice advice = ask(table);
    table.observe(kKey, advice.slices, time_of(advice.slices));
  }
}

TEST(CostFeedback, ConvergesFromMeasurements) {
  CostTable table;
  learn_costs(table);
  const SliceAdvice advice = ask(table);
  EXPECT_EQ(advice.state, AdviceState::settled);
  EXPECT_GE(advice.slices, 25U);
  EXPECT_LE(advice.slices, 51U);
  EXPECT_EQ(advice.measured, 12U);
  EXPECT_THAT(describe(advice), HasSubstr(" slices, "));
  EXPECT_THAT(describe(advice), HasSubstr("12 measured)"));
}

TEST(CostFeedback, StopsTrialsWithoutMeasurements) {
  CostTable table;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(table).state, AdviceState::trial);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(table).state, AdviceState::unmeasured);
  EXPECT_THAT(describe(ask(table)), HasSubstr("alpha"));
  table.observe(kKey, 20, 10ms);
  EXPECT_EQ(ask(table).state, AdviceState::trial) << "and begins anew with the first";
}

TEST(CostFeedback, UsesSavedCostsWhereTrialsAreNotMeasured) {
  CostTable table;
  learn_costs(table);
  for (int i = 0; i < 300; ++i) {
    const SliceAdvice advice = ask(table);
    if (i < 3) continue;
    EXPECT_EQ(advice.state, AdviceState::settled);
    EXPECT_LE(advice.slices, 51U);
    EXPECT_GE(advice.slices, 20U);
  }
}

TEST(CostFeedback, RespectsTheSliceLimit) {
  CostTable table;
  ask(table);
  table.limit_slices(kKey, 7);
  for (int i = 0; i < 20; ++i) {
    const SliceAdvice advice = ask(table);
    EXPECT_LE(advice.slices, 7U);
    table.observe(kKey, advice.slices, 10ms);
  }
  EXPECT_EQ(ask(table).slices, 7U);
}

TEST(CostFeedback, ScalesTheDurationOfAnotherSize) {
  CostTable table;
  EXPECT_EQ(table.duration(kKey, kRelative, 1000, name).state, AdviceState::unmeasured);
  table.observe(kKey, 1, 10ms);
  EXPECT_EQ(table.duration(kKey, kRelative, 1000, name).duration, 10ms);
  const SliceAdvice other = table.duration(kKey + 1, kRelative, 4000, name);
  EXPECT_EQ(other.state, AdviceState::trial);
  EXPECT_EQ(other.duration, 40ms);
  EXPECT_EQ(table.duration(kKey + 2, kRelative + 1, 4000, name).state, AdviceState::unmeasured);
}

TEST(CostFeedback, IsSavedAndRestored) {
  CostTable first;
  learn_costs(first);
  CostTable second;
  second.restore(first.measured_lines());
  const SliceAdvice advice = ask(second);
  EXPECT_EQ(advice.state, AdviceState::settled);
  EXPECT_GE(advice.slices, 20U);
  EXPECT_TRUE(second.measured_lines().empty()) << "nothing of its own yet";
}

TEST(CostFeedback, WithoutANameIsNeitherReportedNorSaved) {
  CostTable table;
  const auto nameless = [] { return std::string(); };
  table.duration(kKey, kRelative, 1000, nameless);
  table.observe(kKey, 1, 10ms);
  EXPECT_EQ(table.duration(kKey, kRelative, 1000, nameless).duration, 10ms);
  EXPECT_TRUE(table.reports(10).empty());
  EXPECT_TRUE(table.measured_lines().empty());
}

TEST(CostFeedback, MemoryIsBoundedForUnboundedKeys) {
  CostTable table;
  for (Key key = 1; key < 20'000; ++key) {
    table.within_budget(mix_key(key, 0), 0.05, 10, Search::trials, name);
    table.observe(mix_key(key, 0), 1, 1ms);
  }
  EXPECT_LE(table.reports(100'000).size(), 4096U);
  EXPECT_EQ(table.reports(5).size(), 5U);
}

TEST(CostFeedback, IsThreadSafe) {
  CostTable table;
  kit::on_threads(4, [&](std::size_t thread) {
    for (int i = 0; i < 2000; ++i) {
      const Key key = mix_key(static_cast<Key>(i % 50), 1);
      const SliceAdvice advice = thread % 2 == 0 ? table.within_budget(key, 0.05, 100, Search::trials, name)
                                                 : table.duration(key, kRelative, 10, name);
      table.observe(key, advice.slices, 1ms);
      if (i % 500 == 0) table.restore(table.measured_lines());
    }
  });
  EXPECT_EQ(table.reports(100).size(), 50U);
  for (Key i = 0; i < 50; ++i) EXPECT_GT(table.known_duration(mix_key(i, 1)), 0ns) << i;
}

}  // namespace
}  // namespace cleave::learn
