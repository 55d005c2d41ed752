#include "learn/cost_file.h"

#include <string>

#include <gtest/gtest.h>

namespace cleave::learn {
namespace {

CostLine line_of(std::uint64_t key, std::int64_t duration, std::size_t slices, double loss) {
  CostLine line{.key = key, .duration = base::Nanoseconds(duration), .losses = {}};
  line.losses[0] = {slices, loss};
  line.losses[1] = {slices * 8, loss * 10};
  return line;
}

TEST(CostFile, RoundTrips) {
  const auto read = parse_lines(format_line(line_of(UINT64_MAX, 40'700'000, 16, 0.0125)));
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].key, UINT64_MAX);
  EXPECT_EQ(read[0].duration.count(), 40'700'000);
  EXPECT_EQ(read[0].losses[0].slices, 16U);
  EXPECT_DOUBLE_EQ(read[0].losses[0].loss, 0.0125);
  EXPECT_EQ(read[0].losses[1].slices, 128U);
  EXPECT_EQ(read[0].losses[2].slices, 0U);
}

TEST(CostFile, LastLineForAKeyWins) {
  const auto read =
      parse_lines(format_line(line_of(5, 100, 16, 0.1)) + format_line(line_of(6, 300, 16, 0.1)) +
                  format_line(line_of(5, 200, 16, 0.1)));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[1].key, 5U);
  EXPECT_EQ(read[1].duration.count(), 200);
}

TEST(CostFile, MalformedLinesAreSkippedIndividually) {
  const std::string good = format_line(line_of(6, 300, 16, 0.1));
  const std::string line = format_line(line_of(5, 123456, 16, 0.0125));
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    for (const char other : {'0', '9', ' ', '-', 'x', '\0', '\n'}) {
      if (line[i] == other) continue;
      std::string spoilt = line;
      spoilt[i] = other;
      const auto read = parse_lines(good + spoilt + good);
      ASSERT_EQ(read.size(), 1U) << spoilt;
      EXPECT_EQ(read[0].key, 6U);
    }
    const auto cut = parse_lines(good + line.substr(0, i));
    ASSERT_EQ(cut.size(), 1U) << "cut after " << i;
  }
}

// Lines with a correct check sum and values that Cleave never writes.
TEST(CostFile, RejectsNumbersOutOfRange) {
  for (const CostLine& line :
       {line_of(0, 100, 16, 0.1), line_of(5, 0, 16, 0.1), line_of(5, 100, 1, 0.1),
        line_of(5, 100, 2'000'000, 0.1), line_of(5, 100, 16, 5000), line_of(5, INT64_MAX, 16, 0.1)}) {
    EXPECT_TRUE(parse_lines(format_line(line)).empty());
  }
  CostLine falling = line_of(5, 100, 16, 0.1);
  falling.losses[1].loss = 0.05;
  EXPECT_TRUE(parse_lines(format_line(falling)).empty());
}

TEST(CostFile, GarbageIsEmpty) {
  std::string garbage;
  std::uint32_t state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 1664525U + 1013904223U;
    garbage.push_back(static_cast<char>(state >> 24U));
  }
  EXPECT_TRUE(parse_lines(garbage).empty());
  EXPECT_TRUE(parse_lines(std::string(100'000, '\n')).empty());
  EXPECT_TRUE(parse_lines(std::string(100'000, '1')).empty());
  EXPECT_TRUE(parse_lines("").empty());
}

TEST(CostFile, MergeReplacesAndIsBounded) {
  std::string text = "rubbish\n" + format_line(line_of(1, 100, 16, 0.1));
  text = merge_lines(text, {line_of(2, 100, 16, 0.1), line_of(1, 900, 16, 0.1)});
  EXPECT_EQ(text, format_line(line_of(2, 100, 16, 0.1)) + format_line(line_of(1, 900, 16, 0.1)));
  std::vector<CostLine> many;
  for (std::uint64_t key = 10; key < 10 + kMaxLines; ++key) many.push_back(line_of(key, 100, 16, 0.1));
  text = merge_lines(text, many);
  EXPECT_EQ(parse_lines(text).size(), kMaxLines);
  text = merge_lines(text, {line_of(3, 100, 16, 0.1)});
  const auto lines = parse_lines(text);
  EXPECT_EQ(lines.size(), kMaxLines);
  EXPECT_EQ(lines.back().key, 3U);
  EXPECT_EQ(lines.front().key, 11U) << "the oldest has gone";
}

}  // namespace
}  // namespace cleave::learn
