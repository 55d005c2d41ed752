#include "plan/decide.h"

#include <limits>

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

const base::Settings kAlpha;
const Kernel kSplittable{.source = Kernel::Source::splittable};
const Device kDevice{.cores = 480, .resident_groups = 480};
constexpr std::size_t kMany = 1 << 20;

NDRange line(std::size_t global, std::size_t local, std::size_t offset = 0) {
  NDRange range;
  range.global[0] = global;
  range.local[0] = local;
  range.offset[0] = offset;
  return range;
}

TEST(Decide, FewerItemsThanCoresIsUnsplit) {
  EXPECT_EQ(obstacle(kAlpha, kSplittable, kDevice, 479), UnsplitReason::small);
  EXPECT_FALSE(obstacle(kAlpha, kSplittable, kDevice, 480));
}

TEST(Decide, MinItemsOverridesTheCoreCount) {
  base::Settings settings = kAlpha;
  settings.min_items = 0;
  EXPECT_FALSE(obstacle(settings, kSplittable, kDevice, 1));
  settings.min_items = 1000;
  EXPECT_EQ(obstacle(settings, kSplittable, kDevice, 999), UnsplitReason::small);
}

TEST(Decide, BudgetIsBoundedPerVm) { EXPECT_EQ(max_slices(5), 500U); }

TEST(Decide, UnsplittableKernelsGiveTheirReason) {
  EXPECT_EQ(obstacle(kAlpha, {.source = Kernel::Source::unseen}, kDevice, kMany), UnsplitReason::binary);
  EXPECT_EQ(obstacle(kAlpha, {.source = Kernel::Source::unsplittable}, kDevice, kMany),
            UnsplitReason::kernel);
}

TEST(Decide, KernelAlphaOverridesDeviceAlphaOverridesDefault) {
  Kernel kernel = kSplittable;
  Device device = kDevice;
  const base::AlphaTable two = 2;
  const base::AlphaTable three = 3;
  const base::AlphaTable by_vms = *base::AlphaTable::parse("1:10,2:7,4:4");
  device.alpha = &two;
  EXPECT_EQ(alpha_slices(kAlpha, kernel, device, 5), 10U);
  kernel.alpha = &three;
  EXPECT_EQ(alpha_slices(kAlpha, kernel, device, 5), 15U);
  kernel.alpha = &by_vms;
  EXPECT_EQ(alpha_slices(kAlpha, kernel, device, 1), 10U);
  EXPECT_EQ(alpha_slices(kAlpha, kernel, device, 3), 21U) << "the α of two";
  EXPECT_EQ(alpha_slices(kAlpha, kernel, device, 5), 20U);
}

// As an H200 has them: 132 multiprocessors.
const Device kGpu{.cores = 16896,
                  .resident_groups = std::size_t{132} * 32,
                  .resident_items = std::size_t{132} * 2048,
                  .queues = 6,
                  .gains_from_pipelining = true};
const Device kCpu{.cores = 16, .resident_groups = 16, .resident_items = kMany};

std::size_t filled(const Device& device, std::size_t groups, std::size_t local, base::Settings settings) {
  const Decision decision =
      limit_to_full_device(settings, kSplittable, device, line(groups * local, local), 20);
  if (decision.unsplit_reason) {
    EXPECT_EQ(decision.unsplit_reason, groups == 1 ? UnsplitReason::one_group : UnsplitReason::resident);
    return 1;
  }
  return decision.slices;
}

TEST(DeviceOccupancy, ResidentLaunchIsUnsplit) {
  EXPECT_EQ(filled(kGpu, 1, 64, kAlpha), 1U);
  EXPECT_EQ(filled(kGpu, 4224, 64, kAlpha), 1U);
  EXPECT_EQ(filled(kGpu, 4225, 64, kAlpha), 6U) << "one on each queue";
  EXPECT_EQ(filled(kGpu, 1056, 256, kAlpha), 1U) << "large groups are fewer";
  EXPECT_EQ(filled(kCpu, 16, 64, kAlpha), 1U);
  EXPECT_EQ(filled(kCpu, 31, 64, kAlpha), 1U);
}

TEST(DeviceOccupancy, SlicesInFlightFillTheDevice) {
  EXPECT_EQ(filled(kGpu, 2112, 256, kAlpha), 12U);
  EXPECT_EQ(filled(kGpu, 102'400, 256, kAlpha), 20U) << "no more than are wanted";
  EXPECT_EQ(filled(kCpu, 32, 64, kAlpha), 2U);
  EXPECT_EQ(filled(kCpu, 100, 64, kAlpha), 6U);
  EXPECT_EQ(filled(kCpu, 320, 64, kAlpha), 20U);
}

TEST(DeviceOccupancy, OnOneQueueEachSliceFillsTheDevice) {
  base::Settings queued = kAlpha;
  queued.launch = base::LaunchMode::queued;
  EXPECT_EQ(filled(kGpu, 2112, 256, queued), 2U);
  const Kernel communicates{.source = Kernel::Source::splittable, .communicates = true};
  EXPECT_EQ(limit_to_full_device(kAlpha, communicates, kGpu, line(2112 * 256, 256), 20).slices, 2U);
  base::Settings pipelined = kAlpha;
  pipelined.launch = base::LaunchMode::pipelined;
  Device several = kCpu;
  several.queues = 4;
  EXPECT_EQ(filled(several, 32, 64, pipelined), 8U);
}

TEST(DeviceOccupancy, HugeLaunchesDoNotOverflow) {
  const Decision decision =
      limit_to_full_device(kAlpha, kSplittable, kGpu, line(std::numeric_limits<std::size_t>::max(), 1), 20);
  EXPECT_EQ(decision.slices, 20U);
}

TEST(DeviceOccupancy, MinItemsOverridesTheRule) {
  base::Settings numbered = kAlpha;
  numbered.min_items = 0;
  EXPECT_EQ(filled(kGpu, 2, 64, numbered), 20U) << "a number stands in place of the rules for small launches";
}

TEST(ValidateCut, OneGroupIsUnsplit) {
  EXPECT_EQ(validate_cut(line(64, 64), kSplittable, kDevice, 20, false).unsplit_reason,
            UnsplitReason::one_group);
}

TEST(ValidateCut, NoMoreSlicesThanGroups) {
  EXPECT_EQ(validate_cut(line(192, 64), kSplittable, kDevice, 20, false).slices, 3U);
}

TEST(ValidateCut, WaitingGroupsAreSplitOnlyIfTheyExceedResidency) {
  const Kernel waits{.source = Kernel::Source::splittable, .communicates = true, .may_wait = true};
  EXPECT_EQ(validate_cut(line(480 * 64, 64), waits, kDevice, 20, false).unsplit_reason,
            UnsplitReason::waiting_groups);
  EXPECT_EQ(validate_cut(line(481 * 64, 64), waits, kDevice, 20, false).slices, 20U);
  const Kernel communicates{.source = Kernel::Source::splittable, .communicates = true};
  EXPECT_EQ(validate_cut(line(480 * 64, 64), communicates, kDevice, 20, false).slices, 20U);
  EXPECT_EQ(validate_cut(line(480 * 64, 64), kSplittable, kDevice, 20, false).slices, 20U);
}

TEST(ValidateCut, PartialGroupsAreSplitOffOnlyOnDriversThatAcceptThem) {
  EXPECT_EQ(validate_cut(line(1000, 64), kSplittable, kDevice, 4, false).unsplit_reason,
            UnsplitReason::smaller_groups);
  EXPECT_EQ(validate_cut(line(1000, 64), kSplittable, kDevice, 4, true).slices, 4U);
}

TEST(ValidateCut, IdsBeyond31BitsAreUnsplit) {
  constexpr std::size_t kLargest = 0x7fffffff;
  EXPECT_EQ(validate_cut(line(kLargest - 63, 64, 64), kSplittable, kDevice, 4, true).unsplit_reason,
            UnsplitReason::large_ids);
  EXPECT_EQ(validate_cut(line(kLargest - 63, 64, 63), kSplittable, kDevice, 4, true).slices, 4U);
}

}  // namespace
}  // namespace cleave::plan
