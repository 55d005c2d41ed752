#include "interpose/turns/gpu_processes.h"

#include <optional>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cleave::interpose
