// Launches while another process shares the device and nobody may need turns.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/kit/eventually.h"
#include "tests/sim/interposer/turns_setup.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class TurnNeedTest : public testing::Test, public TurnsFolder, public InterposerFixture {
 protected:
  explicit TurnNeedTest(unsigned vms = 5)
      : InterposerFixture(
            kit::with(in_turns(folder.path(), base::TurnMode::needed), &base::Settings::vms, vms)),
        other(forks, kit::with(beside(folder.path(), driver), &turns::Options::only_if_needed, true)) {
    std::string problem;
    EXPECT_TRUE(other.enter(problem)) << problem;
    // So short that it is so also where several were measured as one, since their ends were noticed late.
    driver.cost("add", [](const sim::Launch& launch) {
      return base::Nanoseconds(10) * static_cast<int>(launch.global[0]);
    });
  }

  // Until nothing of this process is left on the device, nor any event of it.
  void TearDown() override { EXPECT_TRUE(is_given_back(driver, other)); }

  // 4 ms and more of work, which can be cut.
  void make_long() {
    driver.cost("add", [](const sim::Launch& launch) {
      return base::Nanoseconds(2'000) * static_cast<int>(launch.global[0]);
    });
  }

  // As beside another process that the driver serves by its time slices: without turns, each launch waits for one of them.
  void make_time_slices() {
    driver.cost("add", [](const sim::Launch& launch) {
      const auto work = base::Nanoseconds(10) * static_cast<int>(launch.global[0]);
      return interpose::interposer().turns.held() ? work : work + 2 * turns::WorkNeed::kCostly * 1ns;
    });
  }

  // As a program that enqueues several and waits once.
  void launch_some(cl_kernel kernel) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(launch(kernel), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    launches_ += 4;
  }
  // As one that waits for each.
  void launch_and_wait(cl_kernel kernel) {
    EXPECT_EQ(launch(kernel), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    ++launches_;
  }

  static std::uint64_t in_turns_so_far() {
    return interpose::interposer().turns.report().devices.at(0).launches;
  }
  static std::uint64_t unneeded() {
    return interpose::interposer()
        .turns.report()
        .exempt.at(static_cast<std::size_t>(interpose::TurnExemption::unneeded))
        .second;
  }
  // Whether launches are made without turns, once what is not known yet has been measured.
  bool ends_without_turns(cl_kernel kernel) {
    return kit::eventually([&] {
      const std::uint64_t before = in_turns_so_far();
      launch_some(kernel);
      return in_turns_so_far() == before;
    });
  }

  base::ForkLocks forks;
  turns::Turns other;
  const cl_kernel kernel = make_kernel();
  int launches_ = 0;
};

TEST_F(TurnNeedTest, WhatIsNotKnownIsMeasuredInATurn) {
  launch_some(kernel);
  EXPECT_GE(in_turns_so_far(), 1U);
  EXPECT_TRUE(ends_without_turns(kernel));
  EXPECT_GE(unneeded(), 4U);
  driver.forget();
  launch_some(kernel);
  EXPECT_EQ(driver.launches().size(), 4 * 20U) << "cut for the VMs, and at once";
  expect_each_item_ran(launches_);
}

TEST_F(TurnNeedTest, AProgramThatWaitsForEachKernelTakesTurnsAgain) {
  EXPECT_TRUE(ends_without_turns(kernel));
  make_time_slices();
  const std::uint64_t before = in_turns_so_far();
  EXPECT_TRUE(kit::eventually([&] {
    launch_and_wait(kernel);
    return in_turns_so_far() > before;
  }));
  EXPECT_TRUE(kit::eventually([&] {
    launch_and_wait(kernel);
    return other.contended();
  })) << "and so do the others";
  expect_each_item_ran(launches_);
}

TEST_F(TurnNeedTest, AProgramWhoseWaitsCostLittleDoesNot) {
  EXPECT_TRUE(ends_without_turns(kernel));
  const std::uint64_t before = in_turns_so_far();
  for (unsigned i = 0; i < 4 * turns::WorkNeed::kLinks; ++i) launch_and_wait(kernel);
  EXPECT_EQ(in_turns_so_far(), before);
}

// Has the device for much longer than a time slice whenever this process asks for it.
class SlowNeighbour {
 public:
  SlowNeighbour(turns::Turns& turns, sim::Driver& driver)
      : thread_([&turns, &driver, this] {
          while (!stopped_) {
            std::this_thread::sleep_for(100us);
            if (!turns.contended() || !turns.begin()) continue;
            while (!stopped_ && turns.contended() && !is_waited_for(turns))
              std::this_thread::sleep_for(100us);
            driver.clock().sleep_for(16ms);
            turns.end();
          }
        }) {}
  ~SlowNeighbour() {
    stopped_ = true;
    thread_.join();
  }

 private:
  static bool is_waited_for(turns::Turns& turns) {
    const auto all = turns.snapshot();
    return std::any_of(all.begin(), all.end(), [](const auto& each) { return each.waits; });
  }
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

TEST_F(TurnNeedTest, TurnsThatDoNotHelpAreGivenUp) {
  EXPECT_TRUE(ends_without_turns(kernel));
  make_time_slices();
  const SlowNeighbour neighbour(other, driver);
  const auto takes_turn = [&] {
    const std::uint64_t before = in_turns_so_far();
    for (int i = 0; i < 2; ++i) launch_and_wait(kernel);
    driver.clock().sleep_for(10ms);  // and gives the device away
    return in_turns_so_far() > before;
  };
  EXPECT_TRUE(kit::eventually([&] { return takes_turn(); }));
  EXPECT_TRUE(kit::eventually([&] { return !takes_turn() && !other.contended(); }));
  expect_each_item_ran(launches_);
}

TEST_F(TurnNeedTest, BesideWhatCannotBeCutTurnsAreNotTried) {
  EXPECT_TRUE(ends_without_turns(kernel));
  make_time_slices();
  const std::uint64_t before = in_turns_so_far();
  for (unsigned i = 0; i < 8 * turns::WorkNeed::kLinks; ++i) {
    other.show_piece(30'000'000);
    for (int wait = 0; wait < 2; ++wait) launch_and_wait(kernel);
    driver.clock().sleep_for(5ms);
  }
  EXPECT_EQ(in_turns_so_far(), before);
  expect_each_item_ran(launches_);
}

TEST_F(TurnNeedTest, OthersAreToldWhatCannotBeCut) {
  driver.cost("may_wait", [](const sim::Launch&) { return base::Nanoseconds(7ms); });
  const cl_kernel waits = make_kernel(kMayWait, "may_wait");
  EXPECT_TRUE(ends_without_turns(kernel));
  EXPECT_EQ(other.others().piece, 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(launch(waits), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  }
  EXPECT_GE(other.others().piece, 7'000'000);
}

TEST_F(TurnNeedTest, OthersAreToldHowLongSlicesAre) {
  driver.cost("add", [](const sim::Launch& launch) {
    return base::Nanoseconds(250'000) * static_cast<int>(launch.global[0]);
  });
  EXPECT_TRUE(kit::eventually([&] {
    EXPECT_EQ(cl.launch(queue, kernel, {128, 16}), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    return other.others().piece > 0;
  }));
  EXPECT_GE(other.others().piece, 4'000'000);
  EXPECT_LT(other.others().piece, 20'000'000) << "the launch takes 32 ms, and is cut";
}

// Its waits are the driver's own.
class TurnNeedAloneOnTheHost : public TurnNeedTest {
 protected:
  TurnNeedAloneOnTheHost() : TurnNeedTest(1) {}
};

// Each takes 2 ms without turns, so that some are made in the 15 ms for which the others are given time.
TEST_F(TurnNeedAloneOnTheHost, AProgramThatBeginsToNeedTurnsTakesThemALittleLater) {
  EXPECT_TRUE(ends_without_turns(kernel));
  make_time_slices();
  const std::uint64_t before = in_turns_so_far();
  unsigned without = 0;
  EXPECT_TRUE(kit::eventually([&] {
    launch_and_wait(kernel);
    return in_turns_so_far() > before || ++without > 1000;
  }));
  EXPECT_GE(without, turns::WorkNeed::kLinks + 5);
  EXPECT_LE(without, turns::WorkNeed::kLinks + 15);
}

TEST_F(TurnNeedAloneOnTheHost, WaitsForEachKernelAreSeen) {
  EXPECT_TRUE(ends_without_turns(kernel));
  make_time_slices();
  const std::uint64_t before = in_turns_so_far();
  EXPECT_TRUE(kit::eventually([&] {
    launch_and_wait(kernel);
    return in_turns_so_far() > before;
  }));
  expect_each_item_ran(launches_);
}

// In a stream of launches not each of them is looked at.
TEST_F(TurnNeedAloneOnTheHost, LaunchesOfAStreamAreAllCounted) {
  EXPECT_TRUE(ends_without_turns(kernel));
  const std::uint64_t before = unneeded();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(unneeded(), before + 1000);
}

// Nor does a long one escape that always comes at the end of a stream. That it was seen when it was new does not count.
TEST_F(TurnNeedAloneOnTheHost, ALongLaunchBehindShortOnesIsSeen) {
  make_long();
  const auto takes_turns = [&] {
    const std::uint64_t before = in_turns_so_far();
    for (int i = 0; i < 8; ++i) EXPECT_EQ(cl.launch(queue, kernel, {64, 16}), CL_SUCCESS);
    EXPECT_EQ(launch(kernel), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    return in_turns_so_far() > before;
  };
  EXPECT_TRUE(kit::eventually([&] { return !takes_turns(); }));
  std::this_thread::sleep_for(base::Nanoseconds(turns::duration_of(turns::Need::long_launches)));
  EXPECT_FALSE(takes_turns());
  // Now and then one is looked at by chance.
  int streams = 0;
  for (bool taken = false; !taken && streams < 200; ++streams) {
    other.need(turns::Need::long_launches);
    taken = takes_turns();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LT(streams, 200);
}

TEST_F(TurnNeedAloneOnTheHost, WaitsBetweenStreamsAreSeen) {
  EXPECT_TRUE(ends_without_turns(kernel));
  make_time_slices();
  const std::uint64_t before = in_turns_so_far();
  EXPECT_TRUE(kit::eventually([&] {
    for (int i = 0; i < 20; ++i, ++launches_) EXPECT_EQ(launch(kernel), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    for (int i = 0; i < 3; ++i) launch_and_wait(kernel);
    return in_turns_so_far() > before;
  }));
  expect_each_item_ran(launches_);
}

TEST_F(TurnNeedAloneOnTheHost, SomebodyElsesNeedIsSeenInAStream) {
  EXPECT_TRUE(ends_without_turns(kernel));
  for (int i = 0; i < 20; ++i, ++launches_) EXPECT_EQ(launch(kernel), CL_SUCCESS);
  other.set_weight(300);
  EXPECT_TRUE(kit::eventually([&] {
    const std::uint64_t before = in_turns_so_far();
    EXPECT_EQ(launch(kernel), CL_SUCCESS);
    ++launches_;
    return in_turns_so_far() > before;
  }));
  expect_each_item_ran(launches_);
}

TEST_F(TurnNeedTest, WithoutALocalSizeLaunchesAreMeasured) {
  EXPECT_TRUE(kit::eventually([&] {
    const std::uint64_t before = in_turns_so_far();
    for (int i = 0; i < 4; ++i) {
      const std::size_t items = kItems;
      EXPECT_EQ(cl.clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
                CL_SUCCESS);
    }
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    launches_ += 4;
    return in_turns_so_far() == before;
  }));
  expect_each_item_ran(launches_);
}

TEST_F(TurnNeedTest, LongLaunchesTakeTurnsOnceSomebodyElseMakesSome) {
  make_long();
  EXPECT_TRUE(ends_without_turns(kernel)) << "beside one that makes none";
  EXPECT_TRUE(kit::eventually([&] {
    const std::uint64_t before = in_turns_so_far();
    other.need(turns::Need::long_launches);
    launch_some(kernel);
    return in_turns_so_far() > before;
  }));
  expect_each_item_ran(launches_);
}

// What was enqueued before turns began has to end first.
TEST_F(TurnNeedTest, ABacklogIsNoStall) {
  make_long();
  EXPECT_TRUE(ends_without_turns(kernel));
  for (int i = 0; i < 200; ++i, ++launches_) ASSERT_EQ(launch(kernel), CL_SUCCESS);  // 1.6 s
  other.set_weight(300);
  ASSERT_TRUE(
      kit::eventually([&] { return interpose::interposer().turns.of(device)->is_needed(queue, {}); }));
  for (int i = 0; i < 8; ++i, ++launches_) ASSERT_EQ(launch(kernel), CL_SUCCESS);
  const auto figures = interpose::interposer().turns.report().devices.at(0);
  EXPECT_EQ(figures.state, "joined");
  EXPECT_GT(figures.launches, 0U);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  expect_each_item_ran(launches_);
}

TEST_F(TurnNeedTest, ShortLaunchesDoNotCountAsLong) {
  EXPECT_TRUE(ends_without_turns(kernel));
  other.need(turns::Need::long_launches);
  const std::uint64_t before = in_turns_so_far();
  launch_some(kernel);
  EXPECT_EQ(in_turns_so_far(), before);
}

TEST_F(TurnNeedTest, SomebodyElsesNeedIsReasonEnough) {
  EXPECT_TRUE(ends_without_turns(kernel));
  other.set_weight(300);
  EXPECT_TRUE(kit::eventually([&] {
    const std::uint64_t before = in_turns_so_far();
    launch_some(kernel);
    return in_turns_so_far() > before;
  }));
  expect_each_item_ran(launches_);
}

}  // namespace
}  // namespace cleave
