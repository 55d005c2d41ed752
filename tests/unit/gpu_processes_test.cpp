#include "interpose/turns/gpu_processes.h"

#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "interpose/turns/outsider_watch.h"

namespace cleave::interpose {
namespace {

// FAKE_NVML (tests/unit/fake_nvml.cpp) lists processes by the PCI device number.
std::optional<bool> others_on(const char* address, pid_t self = 100) {
  const auto processes = GpuProcesses::open(FAKE_NVML, address);
  return processes ? processes->has_others_than(self) : std::nullopt;
}

TEST(GpuProcesses, AProcessByItselfHasNoOthers) { EXPECT_EQ(others_on("00000000:00:01.0"), false); }

TEST(GpuProcesses, AnotherProcessIsFound) { EXPECT_EQ(others_on("00000000:00:02.0"), true); }

TEST(GpuProcesses, OnlyTheOwnPartOfTheGpuCounts) {
  EXPECT_EQ(others_on("00000000:00:03.0", 100), false);
  EXPECT_EQ(others_on("00000000:00:03.0", 101), true);
}

TEST(GpuProcesses, AListWithoutTheAskingProcessTellsNothing) {
  EXPECT_EQ(others_on("00000000:00:02.0", 4711), std::nullopt);
}

TEST(GpuProcesses, AListThatIsRefusedTellsNothing) { EXPECT_EQ(others_on("00000000:00:04.0"), std::nullopt); }

TEST(GpuProcesses, AnUnknownGpuCannotBeAskedFor) {
  EXPECT_EQ(GpuProcesses::open(FAKE_NVML, "00000000:00:09.0"), nullptr);
}

TEST(GpuProcesses, ALibraryThatIsMissingOrAnotherIsNoError) {
  EXPECT_EQ(GpuProcesses::open("libno-such-library.so.1", "00000000:00:01.0"), nullptr);
  EXPECT_EQ(GpuProcesses::open("libc.so.6", "00000000:00:01.0"), nullptr);
}

// For each second, whether room is left in the next one.
std::string seconds(int count, const std::function<bool(int second)>& others,
                    const std::function<bool(int second)>& disturbed) {
  RoomForOutsiders room;
  std::string leaves;
  for (int second = 0; second < count; ++second)
    leaves += room.step(others(second), disturbed(second)) ? '1' : '0';
  return leaves;
}

bool always(int) { return true; }
bool never(int) { return false; }

TEST(RoomForOutsiders, IsLeftWhileTheyComeInBetween) {
  EXPECT_EQ(seconds(5, never, never), "00000");
  EXPECT_EQ(seconds(5, always, always), "11111");
  EXPECT_EQ(seconds(6, always, [](int second) { return second % 2 == 0; }), "111111");
}

TEST(RoomForOutsiders, IsLeftNowAndThenWhileTheyDoNothing) {
  EXPECT_EQ(seconds(32, always, never), "11011001100001100000000110000000");
  const auto once = [](int second) { return second == 6; };
  EXPECT_EQ(seconds(12, always, once), "110110110110") << "the pauses begin anew";
}

TEST(RoomForOutsiders, EndsWithTheLastOfThem) {
  EXPECT_EQ(seconds(
                6, [](int second) { return second < 3; }, always),
            "111000");
  EXPECT_EQ(seconds(
                6, [](int second) { return second > 2; }, never),
            "000110");
}

}  // namespace
}  // namespace cleave::interpose
