// The live screen for every size of a terminal.
#include "cli/top/live/layout.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cleave::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string text_of(const StyledLine& line) {
  std::string text;
  for (const StyledText& each : line) text += each.text;
  return text;
}

std::string joined(const std::vector<StyledLine>& lines) {
  std::string text;
  for (const StyledLine& each : lines) text += text_of(each) + "\n";
  return text;
}

std::size_t cells_of(const StyledLine& line) {
  const std::string text = text_of(line);
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

TopScene scene_of(std::size_t processes) {
  TopScene scene;
  scene.heading = "cleave top: 2 VMs on the host, some processes under Cleave";
  for (std::size_t i = 0; i < 3; ++i) {
    TopDevice device;
    device.number = i;
    device.name = "A device with a rather long name " + std::to_string(i);
    device.share = 0.5;
    device.history = {0, 0.5, 1};
    device.holder = "1 train";
    device.waiting = 1;
    device.memory = 1 << 20;
    scene.devices.push_back(device);
  }
  scene.devices[1].problem = "it is of another version of Cleave";
  for (std::size_t i = 0; i < processes; ++i) {
    TopRow row;
    row.key = std::to_string(i);
    row.pid = static_cast<unsigned>(1000 + i);
    row.tenant = i % 2 == 0 ? "alice" : "bob";
    row.device = i % 3;
    row.share = static_cast<double>(i) / 100;
    row.history = {1, 1};
    row.command = "program" + std::to_string(i);
    scene.processes.push_back(row);
  }
  for (const char* tenant : {"alice", "bob"}) {
    TopRow row;
    row.key = tenant;
    row.tenant = tenant;
    row.device = 0;
    row.history = {0.5};
    scene.tenants.push_back(row);
  }
  return scene;
}

TEST(TopLayout, FitsEverySizeInEveryMode) {
  const TopScene scene = scene_of(30);
  for (const char mode : {' ', 'h', '/', 's', 't', '6'}) {
    for (std::size_t height = 1; height < 40; height += height < 12 ? 1 : 9) {
      for (std::size_t width = 1; width < 220; width += width < 30 ? 1 : 17) {
        Controls controls{ViewOptions{}};
        controls.press(mode == '6' ? Key::f6 : key(mode), {});
        const ScreenSize size{width, height};
        const auto lines = layout(scene, controls, size, true);
        ASSERT_LE(lines.size(), height);
        for (const StyledLine& each : lines) ASSERT_LE(cells_of(each), width) << text_of(each);
        ASSERT_GE(extent_of(scene, controls, size).page, 1U);
      }
    }
  }
}

TEST(TopLayout, LastRowsCanBeReachedByScrolling) {
  const TopScene scene = scene_of(50);
  for (std::size_t height = 4; height < 30; ++height) {
    Controls controls{ViewOptions{}};
    const ScreenSize size{120, height};
    controls.press(Key::end, extent_of(scene, controls, size));
    EXPECT_THAT(joined(layout(scene, controls, size, true)), HasSubstr("\n1000 ")) << height;
  }
}

TEST(TopLayout, DevicesHaveTheirUseAndHistory) {
  const auto lines = layout(scene_of(3), Controls{ViewOptions{}}, {120, 24}, true);
  EXPECT_THAT(text_of(lines[1]), AllOf(StartsWith(" 0 A device with a rather long"), HasSubstr(" 50.0%"),
                                       HasSubstr(" \u2584\u2588 held by 1 train"), HasSubstr(", 1 waits"),
                                       HasSubstr("1.0M booked")));
  EXPECT_THAT(text_of(lines[2]), HasSubstr("it is of another version"));
  EXPECT_THAT(joined(layout(scene_of(3), Controls{ViewOptions{}}, {120, 24}, false)),
              AllOf(HasSubstr(" =# held by"), Not(HasSubstr("\u2588"))));
}

TEST(TopLayout, MoreDevicesThanRoomAreCounted) {
  EXPECT_THAT(joined(layout(scene_of(3), Controls{ViewOptions{}}, {100, 8}, true)),
              HasSubstr("and 2 more devices"));
}

TEST(TopLayout, OnlyTheChosenDeviceIsShown) {
  const TopScene scene = scene_of(6);
  Controls controls{ViewOptions{.device = 1}};
  const std::string shown = joined(layout(scene, controls, {120, 24}, true));
  EXPECT_THAT(shown, AllOf(HasSubstr("program1"), HasSubstr("program4"), Not(HasSubstr("program0")),
                           Not(HasSubstr("long name 0")), HasSubstr("2 processes by DEV%, falling")));
  EXPECT_THAT(joined(layout(scene, Controls{ViewOptions{.device = 7}}, {120, 24}, true)),
              HasSubstr("device 7 (not in use)"));
}

TEST(TopLayout, TenantsHaveRowsOfTheirOwn) {
  const auto lines = layout(
      scene_of(6), Controls{ViewOptions{.sorted_by = Column::tenant, .by_tenant = true}}, {120, 24}, false);
  const std::string shown = joined(lines);
  EXPECT_THAT(shown, AllOf(HasSubstr("\nTENANT"), HasSubstr("\nalice"), HasSubstr("\nbob"),
                           Not(HasSubstr("program")), HasSubstr("2 tenants by TENANT, rising")));
}

TEST(TopLayout, StatusTellsFilterAndPause) {
  Controls controls{ViewOptions{}};
  for (const char each : {'p', '/', 'm', '4'}) controls.press(key(each), {});
  EXPECT_THAT(joined(layout(scene_of(6), controls, {120, 24}, true)),
              AllOf(HasSubstr(", filter: m4, PAUSED"), HasSubstr("program4"), Not(HasSubstr("program3"))));
}

TEST(TopLayout, ColumnSortedByIsMarked) {
  const auto lines = layout(scene_of(1), Controls{ViewOptions{.sorted_by = Column::memory}}, {100, 24}, true);
  std::vector<std::string> marked;
  for (const StyledLine& line : lines) {
    for (const StyledText& each : line) {
      if (each.style == Style::sorted) marked.push_back(each.text);
    }
  }
  EXPECT_THAT(marked, testing::ElementsAre("   MEM"));
}

}  // namespace
}  // namespace cleave::cli
