#include <string>

#include <gtest/gtest.h>

#include "learn/file.h"

namespace cleave::learn {
namespace {

Line line_of(std::uint64_t key, std::int64_t duration, std::size_t slices, double loss) {
  Line line{.key = key, .duration = base::Nanoseconds(duration), .losses = {}};
  line.losses[0] = {slices, loss};
  line.losses[1] = {slices * 8, loss * 10};
  return line;
}

TEST(CostFile, GivesBackWhatItGot) {
  const auto read = from_text(to_text(line_of(UINT64_MAX, 40'700'000, 16, 0.0125)));
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].key, UINT64_MAX);
  EXPECT_EQ(read[0].duration.count(), 40'700'000);
  EXPECT_EQ(read[0].losses[0].slices, 16U);
  EXPECT_DOUBLE_EQ(read[0].losses[0].loss, 0.0125);
  EXPECT_EQ(read[0].losses[1].slices, 128U);
  EXPECT_EQ(read[0].losses[2].slices, 0U);
}

TEST(CostFile, OfSeveralForOneKeyTheLastCounts) {
  const auto read = from_text(to_text(line_of(5, 100, 16, 0.1)) + to_text(line_of(6, 300, 16, 0.1)) +
                              to_text(line_of(5, 200, 16, 0.1)));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[1].key, 5U);
  EXPECT_EQ(read[1].duration.count(), 200);
}

TEST(CostFile, EveryFlawSpoilsItsLineAndNoOther) {
  const std::string good = to_text(line_of(6, 300, 16, 0.1));
  const std::string line = to_text(line_of(5, 123456, 16, 0.0125));
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    for (const char other : {'0', '9', ' ', '-', 'x', '\0', '\n'}) {
      if (line[i] == other) continue;
      std::string spoilt = line;
      spoilt[i] = other;
      const auto read = from_text(good + spoilt + good);
      ASSERT_EQ(read.size(), 1U) << spoilt;
      EXPECT_EQ(read[0].key, 6U);
    }
    const auto cut = from_text(good + line.substr(0, i));
    ASSERT_EQ(cut.size(), 1U) << "cut after " << i;
  }
}

// Lines with the right check sum that nobody who is honest writes.
TEST(CostFile, NumbersOutOfBoundsAreNotTaken) {
  for (const Line& line :
       {line_of(0, 100, 16, 0.1), line_of(5, 0, 16, 0.1), line_of(5, 100, 1, 0.1),
        line_of(5, 100, 2'000'000, 0.1), line_of(5, 100, 16, 5000), line_of(5, INT64_MAX, 16, 0.1)}) {
    EXPECT_TRUE(from_text(to_text(line)).empty());
  }
  Line falling = line_of(5, 100, 16, 0.1);
  falling.losses[1].loss = 0.05;
  EXPECT_TRUE(from_text(to_text(falling)).empty());
}

TEST(CostFile, GarbageIsNothing) {
  std::string garbage;
  std::uint32_t state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 1664525U + 1013904223U;
    garbage.push_back(static_cast<char>(state >> 24U));
  }
  EXPECT_TRUE(from_text(garbage).empty());
  EXPECT_TRUE(from_text(std::string(100'000, '\n')).empty());
  EXPECT_TRUE(from_text(std::string(100'000, '1')).empty());
  EXPECT_TRUE(from_text("").empty());
}

TEST(CostFile, MergingReplacesAndDoesNotGrowWithoutEnd) {
  std::string text = "rubbish\n" + to_text(line_of(1, 100, 16, 0.1));
  text = merged(text, {line_of(2, 100, 16, 0.1), line_of(1, 900, 16, 0.1)});
  EXPECT_EQ(text, to_text(line_of(2, 100, 16, 0.1)) + to_text(line_of(1, 900, 16, 0.1)));
  std::vector<Line> many;
  for (std::uint64_t key = 10; key < 10 + kMostLines; ++key) many.push_back(line_of(key, 100, 16, 0.1));
  text = merged(text, many);
  EXPECT_EQ(from_text(text).size(), kMostLines);
  text = merged(text, {line_of(3, 100, 16, 0.1)});
  const auto lines = from_text(text);
  EXPECT_EQ(lines.size(), kMostLines);
  EXPECT_EQ(lines.back().key, 3U);
  EXPECT_EQ(lines.front().key, 11U) << "the oldest has gone";
}

}  // namespace
}  // namespace cleave::learn
