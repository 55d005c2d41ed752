// Whether launches take turns, and with which weight: settings, caps, queues' hints, devices of several kinds.

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"
#include "tests/sim/interposer/turn_fixture.h"

namespace cleave {
namespace {

TEST(TurnsOnProcessors, BeginWhenACapAppears) {
  const kit::TemporaryFolder folder;
  base::Configuration configuration;
  configuration.settings = in_turns(folder.path(), base::TurnMode::automatic);
  configuration.file = folder.write("cleave.toml", "[turns]\nweight = 5\n");
  limits::LiveLimits live(configuration);
  sim::Driver driver(
      kit::with(default_driver(), &sim::Options::device_type, cl_device_type{CL_DEVICE_TYPE_CPU}));
  base::ForkLocks forks;
  learn::CostTable costs;
  interpose::TurnDevices devices(forks, sim::Driver::table(), driver.clock(), configuration.settings, live,
                                 costs, nullptr);
  interpose::ObjectRecords records(forks);
  interpose::Devices known(forks, sim::Driver::table(), configuration.settings, records);
  interpose::QueueRecord queue;
  queue.device = driver.device();
  devices.add(queue, *known.of(queue.device));
  devices.follow_limits();
  EXPECT_EQ(devices.of(queue.device), nullptr) << "the host's scheduler shares its processors out";
  folder.write("cleave.toml", "[turns]\nweight = 7\n[limits]\ncap = \"50%\"\n");
  EXPECT_TRUE(kit::eventually([&] {
    devices.follow_limits();
    return devices.of(queue.device) != nullptr;
  }));
  devices.leave();
}

struct HintedTurns : TurnTest {
  HintedTurns() : TurnTest(base::TurnMode::on, kit::with(sim::Options{}, &sim::Options::queue_hints, true)) {}

  kit::Queue queue_of_priority(cl_queue_properties priority) {
    return cl.queue(context, device, {interpose::kPriority, priority, 0});
  }
  // All participants' but the other's, which is that of a new one.
  std::vector<std::uint32_t> weights() {
    std::vector<std::uint32_t> all;
    for (const auto& each : other.snapshot()) all.push_back(each.weight);
    const auto others = std::find(all.begin(), all.end(), turns::kDefaultWeight);
    if (others != all.end()) all.erase(others);
    return all;
  }
};

TEST_F(HintedTurns, LaunchesOfQueuesOfLowPriorityCountWithAQuarterOfTheWeight) {
  share();
  const auto low = queue_of_priority(interpose::kLowPriority);
  for (const cl_queue_properties priority : {1U, 2U}) {
    const auto whole = queue_of_priority(priority);
    ASSERT_EQ(launch_on(low, kernel), CL_SUCCESS);
    await_feeder();
    EXPECT_EQ(weights(), std::vector<std::uint32_t>{turns::kDefaultWeight / 4});
    ASSERT_EQ(launch_on(whole, kernel), CL_SUCCESS);
    await_feeder();
    EXPECT_EQ(weights(), std::vector<std::uint32_t>{turns::kDefaultWeight});
    cl.clFinish(low);
    cl.clFinish(whole);
  }
  expect_each_item_ran(4);
  expect_device_is_given_back();
}

TEST_F(HintedTurns, LaunchOfWholeWeightRaisesThoseThatWait) {
  share();
  const auto low = queue_of_priority(interpose::kLowPriority);
  const auto kernels = make_kernels(2);
  // The device is joined before.
  ASSERT_EQ(launch_on(low, kernels[0]), CL_SUCCESS);
  cl.clFinish(low);
  expect_device_is_given_back();
  ASSERT_TRUE(other.begin());
  std::jthread first([&] { EXPECT_EQ(launch_on(low, kernels[0]), CL_SUCCESS); });
  expect_somebody_waits();
  EXPECT_EQ(weights(), std::vector<std::uint32_t>{turns::kDefaultWeight / 4});
  std::jthread second([&] { EXPECT_EQ(launch(kernels[1]), CL_SUCCESS); });
  EXPECT_TRUE(kit::eventually([&] {
    static_cast<void>(other.should_yield());  // a heartbeat
    return weights() == std::vector<std::uint32_t>{turns::kDefaultWeight};
  }));
  other.end();
  first.join();
  second.join();
  cl.clFinish(low);
  cl.clFinish(queue);
  expect_each_item_ran(3);
  expect_device_is_given_back();
}

TEST(ConfiguredTurns, StatisticsSayWhyThereAreNone) {
  InterposerFixture fixture(in_turns("/proc/self/nothing"));
  EXPECT_EQ(turn_figures().state, "not joined");
  EXPECT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(turn_figures().state, "impossible");
  EXPECT_NE(turn_figures().problem, "");
  EXPECT_EQ(turn_figures().launches, 0U);
}

class TurnsOff : public TurnTest {
 protected:
  TurnsOff() : TurnTest(base::TurnMode::off) {}
};

TEST_F(TurnsOff, NobodyIsWaitedFor) {
  share();
  ASSERT_TRUE(other.begin());
  EXPECT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(other.snapshot().size(), 1U);
  expect_each_item_ran(1);
  other.end();
}

TEST(ConfiguredTurns, ProcessorsTakeTurnsOnlyIfTheUserSaysSo) {
  for (const base::TurnMode mode : {base::TurnMode::automatic, base::TurnMode::on}) {
    const kit::TemporaryFolder folder;
    sim::Options processor = default_driver();
    processor.device_type = CL_DEVICE_TYPE_CPU;
    InterposerFixture fixture(in_turns(folder.path(), mode), processor);
    base::ForkLocks forks;
    turns::Turns other(forks, beside(folder.path(), fixture.driver));
    std::string problem;
    ASSERT_TRUE(other.enter(problem)) << problem;
    EXPECT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
    EXPECT_EQ(other.snapshot().size(), mode == base::TurnMode::on ? 2U : 1U);
    fixture.expect_each_item_ran(1);
  }
}

// With a cap, alone.
base::Settings capped_in(const std::string& folder, base::Cap cap) {
  base::Settings settings = in_turns(folder, base::TurnMode::automatic);
  settings.limits.cap = cap;
  return settings;
}

// A processor, on which there are no turns otherwise.
sim::Options processor() {
  return kit::with(default_driver(), &sim::Options::device_type, cl_device_type{CL_DEVICE_TYPE_CPU});
}

struct ConfiguredCapTest : testing::Test {
  kit::TemporaryFolder folder;
};

TEST_F(ConfiguredCapTest, AloneWithACapLaunchesAreMadeInTurns) {
  InterposerFixture f(capped_in(folder.path(), {500, false}), processor());
  const cl_kernel kernel = f.make_kernel();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f.launch(kernel), CL_SUCCESS);
    EXPECT_EQ(f.cl.clFinish(f.queue), CL_SUCCESS);
  }
  const observe::TurnFigures figures = turn_figures();
  EXPECT_EQ(figures.launches, 4U);
  EXPECT_EQ(figures.state, "joined");
  f.expect_each_item_ran(4);
}

TEST_F(ConfiguredCapTest, AloneWithACapThatBorrowsNothingIsHeldBack) {
  InterposerFixture f(capped_in(folder.path(), {500, true}), processor());
  const cl_kernel kernel = f.make_kernel();
  EXPECT_EQ(f.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(f.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(turn_figures().launches, 0U);
  f.expect_each_item_ran(2);
}

}  // namespace
}  // namespace cleave
