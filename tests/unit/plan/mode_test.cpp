#include "plan/mode.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "plan/cut.h"
#include "plan/device.h"

namespace cleave::plan {
namespace {

using base::LaunchMode;

// An H200, as its driver describes it.
Device h200() {
  const DeviceProperties properties{.gpu = true, .vendor = kNvidia, .compute_units = 132, .nv_major = 9};
  return {.cores = cores(properties),
          .resident_groups = resident_groups(properties),
          .resident_items = resident_items(properties),
          .queues = usable_queues(properties),
          .gains_from_pipelining = true};
}

NDRange product() {
  NDRange range;
  range.dims = 2;
  range.global = {5120, 5120, 1};
  range.local = {16, 16, 1};
  return range;
}

const Kernel kFromSource{.source = Kernel::Source::splittable};
const Kernel kWaits{.source = Kernel::Source::splittable, .communicates = true, .may_wait = true};
constexpr LaunchConditions kFree{.user_event_pending = false, .pacing_stalls = false, .can_add_queues = true};

LaunchMethod choose(LaunchMode wanted_slices, const Kernel& kernel = kFromSource,
                    const Device& device = h200(), const LaunchConditions& conditions = kFree,
                    std::size_t slices = 20) {
  return choose_method(wanted_slices, kernel, device, product(), slices, conditions);
}

// They wait for nobody, so they may be waited for.
TEST(LaunchMethod, KernelsThatSeeWhatOthersDoStayInOrder) {
  for (const Kernel& kernel : {Kernel{.source = Kernel::Source::splittable, .shares_stores = true},
                               Kernel{.source = Kernel::Source::splittable, .communicates = true}}) {
    EXPECT_EQ(choose(LaunchMode::pipelined, kernel).why, SingleQueueReason::communicates);
    EXPECT_EQ(choose(LaunchMode::automatic, kernel).mode, Mode::queued);
    EXPECT_EQ(choose(LaunchMode::sequential, kernel).mode, Mode::sequential);
    EXPECT_EQ(order_of(kernel), Order::ascending);
    EXPECT_EQ(order_of(kFromSource), Order::any);
    EXPECT_FALSE(may_overlap(LaunchMode::pipelined, kernel, h200()));
  }
}

TEST(LaunchMethod, AutomaticPipelinesWhereTheDeviceBenefits) {
  EXPECT_EQ(choose(LaunchMode::automatic).mode, Mode::pipelined);
  EXPECT_EQ(choose(LaunchMode::pipelined).mode, Mode::pipelined);
  Device device = h200();
  device.gains_from_pipelining = false;
  EXPECT_EQ(choose(LaunchMode::automatic, kFromSource, device).mode, Mode::queued);
  EXPECT_EQ(choose(LaunchMode::automatic, kFromSource, device).why, SingleQueueReason::device);
  EXPECT_EQ(choose(LaunchMode::pipelined, kFromSource, device).mode, Mode::pipelined) << "requested by name";
}

TEST(LaunchMethod, WaitingKernelsAreNeverPipelinedNorWaitedFor) {
  for (const auto wanted_slices :
       {LaunchMode::automatic, LaunchMode::pipelined, LaunchMode::queued, LaunchMode::sequential})
    EXPECT_EQ(choose(wanted_slices, kWaits).mode, Mode::queued);
  EXPECT_EQ(choose(LaunchMode::pipelined, kWaits).why, SingleQueueReason::communicates);
}

TEST(LaunchMethod, GivesTheReasonAgainstPipelining) {
  for (const auto wanted_slices : {LaunchMode::automatic, LaunchMode::pipelined}) {
    EXPECT_EQ(choose(wanted_slices, kFromSource, h200(), kFree, 2).why, SingleQueueReason::few);
    EXPECT_EQ(
        choose(wanted_slices, kFromSource, h200(), {.user_event_pending = true, .can_add_queues = true}).why,
        SingleQueueReason::pending);
    EXPECT_EQ(choose(wanted_slices, kFromSource, h200(), {.can_add_queues = false}).why,
              SingleQueueReason::queue);
  }
}

TEST(LaunchMethod, ExplicitModesNeedNoReason) {
  EXPECT_EQ(choose(LaunchMode::queued).mode, Mode::queued);
  EXPECT_FALSE(choose(LaunchMode::queued).why);
  EXPECT_EQ(choose(LaunchMode::sequential).mode, Mode::sequential);
  for (const LaunchConditions& conditions :
       {LaunchConditions{.user_event_pending = true}, LaunchConditions{.pacing_stalls = true},
        LaunchConditions{.in_callback = true}}) {
    EXPECT_EQ(choose(LaunchMode::sequential, kFromSource, h200(), conditions).mode, Mode::queued);
    EXPECT_FALSE(choose(LaunchMode::sequential, kFromSource, h200(), conditions).why);
  }
}

// The device holds 132 × 8 of these groups; a slice has 102400 / slices of them.
TEST(QueuesToFill, AreEnoughToFillTheDevice) {
  const auto queues = [](std::size_t slices) { return queues_to_fill(h200(), product(), slices); };
  EXPECT_EQ(queues(10), 2U);
  EXPECT_EQ(queues(20), 2U);
  EXPECT_EQ(queues(320), 5U);
  EXPECT_EQ(queues(500), 6U) << "no more: from eight on all others wait for the whole launch";
  EXPECT_EQ(queues(100'000), 6U);
}

// Three would fill the device with 100 slices of equal groups.
TEST(QueuesToFill, AreAtLeastFourForUnevenGroupsWithinTenTimesOccupancy) {
  const auto queues = [](std::size_t slices) { return queues_to_fill(h200(), product(), slices); };
  EXPECT_EQ(queues(100), 4U);
  EXPECT_EQ(queues(40), 4U);
  EXPECT_EQ(queues(30), 3U);
  for (std::size_t slices = 2; slices < 2000; ++slices) {
    const std::size_t in_flight = queues(slices) * (102400 / slices);
    EXPECT_TRUE(queues(slices) == 2 || in_flight <= std::size_t{10} * 132 * 8) << slices;
  }
}

TEST(QueuesToFill, AreBetweenTwoAndTheSliceCount) {
  Device device = h200();
  EXPECT_EQ(queues_to_fill(device, product(), 3), 2U);
  NDRange small = product();
  small.global = {64, 64, 1};
  EXPECT_EQ(queues_to_fill(device, small, 4), 3U);
  EXPECT_EQ(queues_to_fill(device, small, 2), 2U);
  device.queues = 0;
  EXPECT_EQ(queues_to_fill(device, small, 16), 2U);
  EXPECT_EQ(queues_to_fill(Device{}, product(), 20), 2U);
}

TEST(QueuesToFill, LargeGroupsNeedFewerQueues) {
  NDRange large = product();
  large.local = {32, 32, 1};  // 264 at once, of 25600
  EXPECT_EQ(queues_to_fill(h200(), large, 100), 4U);
  large.local = {4, 4, 1};  // 32 of a multiprocessor, whatever their size
  EXPECT_EQ(queues_to_fill(h200(), large, 320), 4U);
}

TEST(QueuesToFill, CpusHoldOneGroupPerCore) {
  const DeviceProperties properties{.cpu = true, .compute_units = 4};
  const Device device{.resident_groups = resident_groups(properties),
                      .resident_items = resident_items(properties),
                      .queues = usable_queues(properties)};
  EXPECT_EQ(queues_to_fill(device, product(), 20), 2U);
}

TEST(SingleQueueReason, EveryReasonHasAName) {
  for (std::size_t i = 0; i < kSingleQueueReasons; ++i)
    EXPECT_STRNE(name(static_cast<SingleQueueReason>(i)), "");
}

std::size_t in_quantum(double quanta, bool pipelined, const NDRange& range = product()) {
  return slices_in_quantum(quanta, range, Order::any, h200(), pipelined);
}

TEST(SlicesInQuantum, NoSliceExceedsTheQuantum) {
  EXPECT_EQ(in_quantum(0.9, false), 1U);
  EXPECT_EQ(in_quantum(1.1, false), 2U);
  EXPECT_EQ(in_quantum(1e12, false), 100'000U) << "there is an end to it";
  for (const double quanta : {1.5, 3.0, 7.7, 50.0, 200.0, 500.0, 3000.0}) {
    const std::size_t slices = in_quantum(quanta, false);
    const Cut cut(product(), slices, Order::any);
    for (std::size_t i = 0; i < slices; ++i)
      ASSERT_LE(static_cast<double>(items(cut.slice(i).global)) * quanta, 5120.0 * 5120.0 * 1.05) << quanta;
    EXPECT_LE(static_cast<double>(slices), std::max(2.0, quanta) * 2) << quanta;
  }
}

TEST(SlicesInQuantum, ConcurrentSlicesShareTheQuantum) {
  for (const double quanta : {10.0, 200.0, 1000.0}) {
    const std::size_t slices = in_quantum(quanta, true);
    const unsigned queues = queues_to_fill(h200(), product(), slices);
    EXPECT_GE(static_cast<double>(slices), quanta * queues * 0.98) << quanta;
  }
}

TEST(SlicesInQuantum, AreBoundedByTheWorkGroups) {
  NDRange small = product();
  small.global = {64, 64, 1};
  EXPECT_EQ(in_quantum(1e6, false, small), 16U);
  small.global = {16, 16, 1};
  EXPECT_EQ(in_quantum(1e6, true, small), 1U);
}

}  // namespace
}  // namespace cleave::plan
