// What keys change on the live screen.
#include "cli/top/live/controls.h"

#include <string_view>

#include <gtest/gtest.h>

namespace cleave::cli {
namespace {

using Mode = Controls::Mode;
using std::chrono::milliseconds;

struct TopControls : testing::Test {
  void press(Key pressed) { controls.press(pressed, extent); }
  void type(std::string_view text) {
    for (const char each : text) press(key(each));
  }

  Extent extent{100, 10, 2};
  Controls controls{ViewOptions{}};
};

TEST_F(TopControls, LettersSortByTheirColumnWithTheLargestFirst) {
  const std::pair<char, Column> letters[] = {
      {'M', Column::memory}, {'T', Column::used}, {'P', Column::share}};
  for (const auto& [letter, column] : letters) {
    press(key(letter));
    EXPECT_EQ(controls.sorted_by(), column);
    EXPECT_FALSE(controls.is_ascending());
  }
  type("N");
  EXPECT_EQ(controls.sorted_by(), Column::pid);
  EXPECT_TRUE(controls.is_ascending());
  type("I");
  EXPECT_FALSE(controls.is_ascending());
  type("I");
  EXPECT_TRUE(controls.is_ascending());
}

TEST_F(TopControls, AngleBracketsMoveTheSortedColumnAndStopAtTheEdges) {
  type("<");
  EXPECT_EQ(controls.sorted_by(), Column::state);
  type(">>");
  EXPECT_EQ(controls.sorted_by(), Column::waiting);
  type(">>>>>>>>>>>>>>>>>>>>");
  EXPECT_EQ(controls.sorted_by(), Column::command);
  type("<<<<<<<<<<<<<<<<<<<<");
  EXPECT_EQ(controls.sorted_by(), Column::pid);
}

TEST_F(TopControls, MenuChoosesAColumnOrLeavesItAsItWas) {
  press(Key::f6);
  EXPECT_EQ(controls.mode(), Mode::sort);
  press(Key::home);
  press(Key::up);
  press(Key::down);
  press(Key::enter);
  EXPECT_EQ(controls.mode(), Mode::table);
  EXPECT_EQ(controls.sorted_by(), Column::user);
  press(Key::f6);
  EXPECT_EQ(controls.marked(), 1U);
  press(Key::end);
  press(Key::down);
  press(Key::escape);
  EXPECT_EQ(controls.sorted_by(), Column::user);
}

TEST_F(TopControls, FilterFollowsWhatIsTypedAndIsKeptOrDropped) {
  type("/tq");
  EXPECT_EQ(controls.filter(), "tq");
  press(Key::backspace);
  EXPECT_EQ(controls.filter(), "t");
  press(Key::enter);
  EXPECT_EQ(controls.mode(), Mode::table);
  EXPECT_EQ(controls.filter(), "t");
  press(Key::f4);
  press(Key::escape);
  EXPECT_EQ(controls.filter(), "");
  EXPECT_FALSE(controls.has_quit());
}

TEST_F(TopControls, DevicesGoRoundThroughAll) {
  EXPECT_EQ(controls.device(), std::nullopt);
  type("d");
  EXPECT_EQ(controls.device(), 0U);
  type("d");
  EXPECT_EQ(controls.device(), 1U);
  type("d");
  EXPECT_EQ(controls.device(), std::nullopt);
}

TEST_F(TopControls, IntervalGoesUpAndDownWithinItsLimits) {
  type("+");
  EXPECT_EQ(controls.interval(), milliseconds(2000));
  type("---");
  EXPECT_EQ(controls.interval(), milliseconds(200));
  type("-----");
  EXPECT_EQ(controls.interval(), milliseconds(100));
  type("++++++++++++++++");
  EXPECT_EQ(controls.interval(), milliseconds(60'000));
}

TEST_F(TopControls, TypedIntervalIsTakenOnlyIfItIsOne) {
  type("s0.25");
  press(Key::enter);
  EXPECT_EQ(controls.interval(), milliseconds(250));
  for (const char* bad : {"0", "1.2.3", "9999999", "."}) {
    type("s");
    type(bad);
    press(Key::enter);
    EXPECT_EQ(controls.mode(), Mode::interval) << bad;
    EXPECT_EQ(controls.interval(), milliseconds(250));
    press(Key::escape);
  }
  type("sq");
  press(Key::enter);
  EXPECT_EQ(controls.mode(), Mode::table);
  EXPECT_FALSE(controls.has_quit());
}

TEST_F(TopControls, ScrollingStopsAtBothEnds) {
  press(Key::up);
  EXPECT_EQ(controls.first_row(), 0U);
  press(Key::page_down);
  press(Key::down);
  EXPECT_EQ(controls.first_row(), 11U);
  press(Key::end);
  EXPECT_EQ(controls.first_row(), 90U);
  press(Key::page_down);
  EXPECT_EQ(controls.first_row(), 90U);
  press(Key::page_up);
  EXPECT_EQ(controls.first_row(), 80U);
  press(Key::home);
  EXPECT_EQ(controls.first_row(), 0U);
  press(Key::end);
  controls.limit({5, 10, 2});
  EXPECT_EQ(controls.first_row(), 0U);
}

TEST_F(TopControls, HelpScrollsAndAnyOtherKeyLeavesIt) {
  for (const Key opens : {Key::f1, key('h'), key('?')}) {
    press(opens);
    EXPECT_EQ(controls.mode(), Mode::help);
    press(Key::down);
    EXPECT_EQ(controls.mode(), Mode::help);
    press(key('q'));
    EXPECT_EQ(controls.mode(), Mode::table);
    EXPECT_FALSE(controls.has_quit());
  }
}

TEST_F(TopControls, PauseAndViewsAreSwitchedBack) {
  type("pt");
  EXPECT_TRUE(controls.is_paused());
  EXPECT_TRUE(controls.is_by_tenant());
  type(" t");
  EXPECT_FALSE(controls.is_paused());
  EXPECT_FALSE(controls.is_by_tenant());
}

TEST_F(TopControls, ControlCQuitsInEveryMode) {
  for (const Key opens : {Key::f1, Key::f4, Key::f6, key('s'), key('x')}) {
    Controls fresh{ViewOptions{}};
    fresh.press(opens, extent);
    EXPECT_FALSE(fresh.has_quit());
    fresh.press(Key::control_c, extent);
    EXPECT_TRUE(fresh.has_quit());
  }
  for (const Key quits : {key('q'), Key::f10}) {
    Controls fresh{ViewOptions{}};
    fresh.press(quits, extent);
    EXPECT_TRUE(fresh.has_quit());
  }
}

TEST_F(TopControls, AnyKeysInAnyOrderLeaveItUsable) {
  unsigned random = 1;
  for (int i = 0; i < 20'000; ++i) {
    random = random * 1664525U + 1013904223U;
    press(static_cast<Key>((random >> 8U) % 280));
    EXPECT_LE(controls.first_row(), extent.rows);
    EXPECT_LT(controls.marked(), 17U);
    EXPECT_LE(controls.filter().size(), 64U);
  }
}

}  // namespace
}  // namespace cleave::cli
