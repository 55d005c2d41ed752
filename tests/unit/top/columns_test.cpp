// The columns of the live screen's table.
#include "cli/top/live/columns.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cleave::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;

std::vector<unsigned> order_of(std::vector<TopRow> rows, Column by, bool ascending) {
  sort_rows(rows, by, ascending);
  std::vector<unsigned> pids;
  for (const TopRow& each : rows) pids.push_back(*each.pid);
  return pids;
}

TopRow process(unsigned pid) {
  TopRow row;
  row.key = std::to_string(pid);
  row.pid = pid;
  return row;
}

TEST(TopColumns, TraitsAreInTheOrderOfTheColumns) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Column::command); ++i)
    EXPECT_EQ(traits(static_cast<Column>(i)).column, static_cast<Column>(i));
}

TEST(TopColumns, EachNameIsThatOfOneColumn) {
  EXPECT_EQ(column_named("share"), Column::share);
  EXPECT_EQ(column_named("class"), Column::priority);
  EXPECT_EQ(column_named(""), std::nullopt);
  EXPECT_EQ(column_named("SHARE"), std::nullopt);
  EXPECT_EQ(column_names(),
            "pid, user, tenant, device, processes, class, weight, cap, state, share, waiting, time, waited, "
            "launches, memory or command");
}

TEST(TopColumns, RowsSortByEachColumnInBothOrdersWithTheUnknownLast) {
  // All else of it is larger than another one's if the number is.
  const auto row_with = [](unsigned number, const char* letter, const char* priority, char state) {
    TopRow row = process(number);
    row.user = row.tenant = row.command = letter;
    row.priority = priority;
    row.state = state;
    row.device = row.weight = row.cap = row.launches = number;
    row.share = row.waiting = 0.1 * number;
    row.used = row.waited = row.memory = number;
    return row;
  };
  const TopRow least = row_with(1, "a", "high", 'H');
  const TopRow most = row_with(2, "b", "background", 'W');
  const std::vector<TopRow> rows = {process(3), most, least};
  for (const Column each : columns_of(false)) {
    if (each == Column::pid) continue;
    EXPECT_THAT(order_of(rows, each, true), ElementsAre(1, 2, 3)) << traits(each).title;
    EXPECT_THAT(order_of(rows, each, false), ElementsAre(2, 1, 3)) << traits(each).title;
  }
  EXPECT_THAT(order_of(rows, Column::pid, false), ElementsAre(3, 2, 1));
}

TEST(TopColumns, EqualRowsKeepTheOrderOfTheirPids) {
  EXPECT_THAT(order_of({process(9), process(4), process(7)}, Column::share, false), ElementsAre(4, 7, 9));
}

TEST(TopColumns, NarrowScreensKeepTheFirstTheLastAndTheOneSortedBy) {
  for (std::size_t width = 30; width < 200; ++width) {
    for (const bool by_tenant : {false, true}) {
      const auto fitting = fitting_columns(by_tenant, width, Column::waited);
      std::size_t needed = fitting.size() - 1;
      for (const Column each : fitting) needed += traits(each).width;
      EXPECT_LE(needed, width);
      EXPECT_EQ(fitting.front(), columns_of(by_tenant).front());
      EXPECT_EQ(fitting.back(), columns_of(by_tenant).back());
      EXPECT_THAT(fitting, Contains(Column::waited)) << width;
    }
  }
  EXPECT_EQ(fitting_columns(false, 200, Column::pid).size(), columns_of(false).size());
}

TEST(TopColumns, CellsSayValuesShortly) {
  TopRow row = process(7);
  EXPECT_EQ(cell(row, Column::share), "-");
  EXPECT_EQ(cell(row, Column::cap), "-");
  EXPECT_EQ(cell(row, Column::user), "-");
  row.share = 0.724;
  row.cap = 125;
  row.borrows = true;
  row.priority = "background";
  row.memory = 1536U << 20U;
  EXPECT_EQ(cell(row, Column::share), "72.4");
  EXPECT_EQ(cell(row, Column::cap), "12.5%+");
  EXPECT_EQ(cell(row, Column::priority), "back");
  EXPECT_EQ(cell(row, Column::memory), "1.5G");
  row.cap = 300;
  row.borrows = false;
  EXPECT_EQ(cell(row, Column::cap), "30%");
  row.used = 1'500'000'000;
  EXPECT_EQ(cell(row, Column::used), "0:01.50");
  row.used = 3'599'990'000'000;
  EXPECT_EQ(cell(row, Column::used), "59:59.99");
  row.used = 360'061'000'000'000;
  EXPECT_EQ(cell(row, Column::used), "100:01:01");
}

TEST(TopColumns, CellsFitTheirColumns) {
  TopRow row = process(4'194'304);
  row.weight = 9999;
  row.cap = 999;
  row.borrows = true;
  row.share = 1.0;
  row.waiting = 1.0;
  row.used = 999ULL * 3600 * 1'000'000'000;
  row.waited = row.used;
  row.priority = "normal";
  for (const std::uint64_t bytes : {999ULL, 1000ULL, 1023ULL, 1024ULL, 1048000ULL, 999ULL << 30U, ~0ULL}) {
    row.memory = bytes;
    row.launches = bytes;
    for (const Column each : {Column::pid, Column::weight, Column::cap, Column::share, Column::waiting,
                              Column::used, Column::waited, Column::memory, Column::priority})
      EXPECT_LE(cell(row, each).size(), traits(each).width) << traits(each).title << cell(row, each);
  }
}

TEST(TopColumns, FilterFindsPidsUsersTenantsAndCommandsInEitherCase) {
  TopRow row = process(4711);
  row.user = "alice";
  row.tenant = "Physics";
  row.command = "./Train --big";
  for (const char* found : {"", "471", "ALICE", "phys", "train", "--big"}) EXPECT_TRUE(matches(row, found));
  for (const char* other : {"4712", "bob", "train--big"}) EXPECT_FALSE(matches(row, other));
}

}  // namespace
}  // namespace cleave::cli
