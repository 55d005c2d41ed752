#include "plan/device.h"

#include <cstddef>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

TEST(Device, CoresPerComputeUnitDependOnTheVendor) {
  // NVIDIA H200: 132 multiprocessors of 128; GeForce GTX 580 (2.0): 16 of 32; Tesla V100 (7.0): 80 of 64.
  EXPECT_EQ(cores({.gpu = true, .vendor = 0x10de, .compute_units = 132, .nv_major = 9}), 16896U);
  EXPECT_EQ(cores({.gpu = true, .vendor = 0x10de, .compute_units = 16, .nv_major = 2}), 512U);
  EXPECT_EQ(cores({.gpu = true, .vendor = 0x10de, .compute_units = 80, .nv_major = 7}), 5120U);
  // Radeon HD 7970: 32 units of 4 SIMDs of 16 lanes.
  EXPECT_EQ(cores({.gpu = true, .vendor = 0x1002, .compute_units = 32, .amd_simds = 4, .amd_lanes = 16}),
            2048U);
  EXPECT_EQ(cores({.gpu = true, .vendor = 0x1002, .compute_units = 32}), 2048U);
  EXPECT_EQ(cores({.gpu = true, .vendor = 0x8086, .compute_units = 96}), 768U);
}

TEST(Device, NvidiaCoresDependOnTheGeneration) {
  const auto nvidia = [](std::uint32_t major, std::uint32_t minor, std::uint32_t units) {
    return cores(
        {.gpu = true, .vendor = kNvidia, .compute_units = units, .nv_major = major, .nv_minor = minor});
  };
  EXPECT_EQ(nvidia(2, 1, 8), 384U) << "GeForce GTX 560 Ti";
  EXPECT_EQ(nvidia(3, 0, 8), 1536U) << "GeForce GTX 680";
  EXPECT_EQ(nvidia(5, 2, 16), 2048U) << "GeForce GTX 980";
  EXPECT_EQ(nvidia(6, 0, 56), 3584U) << "Tesla P100";
  EXPECT_EQ(nvidia(6, 1, 20), 2560U) << "GeForce GTX 1080";
  EXPECT_EQ(nvidia(8, 0, 108), 6912U) << "A100";
  EXPECT_EQ(nvidia(8, 6, 82), 10496U) << "GeForce RTX 3090";
}

TEST(Device, ResidentItemsDependOnTheVendor) {
  EXPECT_EQ(resident_items({.gpu = true, .vendor = kNvidia, .compute_units = 132}), 132U * 2048);
  EXPECT_EQ(resident_items({.gpu = true, .vendor = kAmd, .compute_units = 32}), 32U * 2560);
  EXPECT_EQ(resident_items({.gpu = true, .vendor = kIntel, .compute_units = 96}), 96U * 256);
  EXPECT_EQ(resident_items({.cpu = true, .compute_units = 2}), std::numeric_limits<std::size_t>::max())
      << "a processor takes one group at a time, of any size";
}

TEST(Device, CpuCoresAreItsComputeUnits) {
  EXPECT_EQ(cores({.cpu = true, .vendor = 0x10006, .compute_units = 2}), 2U);
  EXPECT_EQ(resident_groups({.cpu = true, .vendor = 0x10006, .compute_units = 2}), 2U);
}

TEST(Device, UnknownDeviceHasOneCore) {
  EXPECT_EQ(cores({.compute_units = 0}), 1U);
  EXPECT_EQ(resident_groups({.compute_units = 0}), 1U);
  EXPECT_EQ(resident_groups({.compute_units = 3}), 384U) << "an accelerator may hold many";
}

}  // namespace
}  // namespace cleave::plan
