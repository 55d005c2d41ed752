#include "base/settings/alpha_table.h"

#include <string>

#include <gtest/gtest.h>

namespace cleave::base {
namespace {

TEST(AlphaTable, OneNumberHoldsForEveryCount) {
  const auto table = AlphaTable::parse("7");
  ASSERT_TRUE(table);
  EXPECT_EQ(*table, AlphaTable(7));
  for (const unsigned vms : {1U, 2U, 100'000U}) EXPECT_EQ(table->of(vms), 7U);
}

TEST(AlphaTable, CountBetweenTwoRowsTakesTheLower) {
  const auto table = AlphaTable::parse("2:10,3:7,6:4");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->of(1), 10U) << "there is no lower row";
  EXPECT_EQ(table->of(2), 10U);
  EXPECT_EQ(table->of(3), 7U);
  EXPECT_EQ(table->of(5), 7U);
  EXPECT_EQ(table->of(6), 4U);
  EXPECT_EQ(table->of(1000), 4U);
}

TEST(AlphaTable, MayBeUnset) {
  EXPECT_FALSE(AlphaTable().is_set());
  EXPECT_FALSE(AlphaTable(0).is_set());
  EXPECT_EQ(AlphaTable().of(5), 0U);
  EXPECT_TRUE(AlphaTable(1).is_set());
}

TEST(AlphaTable, RejectsEverythingElse) {
  std::string long_table = "1:1";
  for (std::size_t i = 2; i <= AlphaTable::kMaxRows; ++i) long_table += "," + std::to_string(i) + ":1";
  EXPECT_TRUE(AlphaTable::parse(long_table));
  for (const std::string text : {"",      "0",       "-1",       "x",     "1000001",  "1:",       ":1",
                                 "1:0",   "0:1",     "1:2,",     ",1:2",  "1:2,1:3",  "2:3,1:4",  "1:2,,3:4",
                                 "1:2:3", "1:2;3:4", "1:2, 3:4", "5,1:2", "100001:1", "1:1000001"}) {
    EXPECT_FALSE(AlphaTable::parse(text)) << text;
  }
  EXPECT_FALSE(AlphaTable::parse(long_table + ",99:1"));
}

}  // namespace
}  // namespace cleave::base
