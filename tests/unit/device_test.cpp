#include "plan/device.h"

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
