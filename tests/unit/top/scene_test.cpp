// From looks at the machine to rows and shares.
#include "cli/top/live/scene.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cleave::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kMillisecond = 1'000'000;

RunningProcess registered_process(unsigned pid, const std::string& program) {
  RunningProcess process;
  process.file = std::to_string(pid) + "." + program;
  process.pid = pid;
  process.program = program;
  process.turn_files = {"turns-a"};
  process.memory_files = {"memory-a"};
  process.launches = 5;
  return process;
}

TurnTaker taker(unsigned pid, const std::string& tenant, std::uint64_t used) {
  TurnTaker taker;
  taker.report.id = pid * 10;
  taker.report.pid = pid;
  taker.report.tenant = tenant;
  taker.report.weight = 100;
  taker.report.used = used;
  return taker;
}

struct TopSceneTest : testing::Test {
  TopSceneTest() {
    look.snapshot.processes = {registered_process(1, "train"), registered_process(2, "infer")};
    SharedDevice device{"turns-a", "A GPU", "", {taker(1, "alice", 0), taker(2, "bob", 0)}};
    device.tenants = {{.tenant = "alice"}, {.tenant = "bob"}};
    look.snapshot.devices = {device};
    look.ledgers = {{"memory-a", "A GPU", "alice", 1, 1000, 2000, 0}};
    look.names["1.train"] = {"anna", "./train --big"};
  }
  SharedDevice& device() { return look.snapshot.devices[0]; }
  void pass(std::chrono::milliseconds time) { look.snapshot.at += time; }
  void use(std::size_t index, std::uint64_t ns) {
    device().takers[index].report.used += ns;
    device().tenants[index].used += ns;
  }

  TopLook look;
  SceneBuilder builder;
};

TEST_F(TopSceneTest, ProcessHasWhatRegistryTurnsAndLedgerSay) {
  device().takers[0].report.holds = true;
  device().takers[0].program = "train";
  const TopScene scene = builder.take(look);
  ASSERT_EQ(scene.processes.size(), 2U);
  const TopRow& row = scene.processes[0];
  EXPECT_EQ(row.pid, 1U);
  EXPECT_EQ(row.user, "anna");
  EXPECT_EQ(row.command, "./train --big");
  EXPECT_EQ(row.tenant, "alice");
  EXPECT_EQ(row.memory, 1000U);
  EXPECT_EQ(row.launches, 5U);
  EXPECT_EQ(row.state, 'H');
  EXPECT_EQ(row.share, std::nullopt);
  EXPECT_EQ(scene.processes[1].command, "infer");
  EXPECT_EQ(scene.processes[1].memory, std::nullopt);
  ASSERT_EQ(scene.devices.size(), 1U);
  EXPECT_EQ(scene.devices[0].name, "A GPU");
  EXPECT_EQ(scene.devices[0].holder, "1 train");
  EXPECT_EQ(scene.devices[0].memory, 1000U);
}

TEST_F(TopSceneTest, SharesAreOfTheTimeBetweenTwoLooks) {
  builder.take(look);
  pass(std::chrono::milliseconds(100));
  use(0, 60 * kMillisecond);
  use(1, 30 * kMillisecond);
  device().takers[1].report.waited = 50 * kMillisecond;
  TopScene scene = builder.take(look);
  EXPECT_DOUBLE_EQ(*scene.processes[0].share, 0.6);
  EXPECT_DOUBLE_EQ(*scene.processes[1].share, 0.3);
  EXPECT_DOUBLE_EQ(*scene.processes[1].waiting, 0.5);
  EXPECT_DOUBLE_EQ(*scene.devices[0].share, 0.9);
  EXPECT_DOUBLE_EQ(*scene.tenants[0].share, 0.6);
  pass(std::chrono::milliseconds(100));
  scene = builder.take(look);
  EXPECT_DOUBLE_EQ(*scene.processes[0].share, 0);
  EXPECT_THAT(scene.processes[0].history, ElementsAre(0.6, 0));
  EXPECT_THAT(scene.devices[0].history, ElementsAre(0.9, 0));
}

TEST_F(TopSceneTest, WaitThatLastsCounts) {
  builder.take(look);
  pass(std::chrono::milliseconds(100));
  device().takers[1].report.waits = true;
  device().takers[1].report.since = 80 * kMillisecond;
  TopScene scene = builder.take(look);
  EXPECT_EQ(scene.processes[1].state, 'W');
  EXPECT_DOUBLE_EQ(*scene.processes[1].waiting, 0.8);
  EXPECT_EQ(scene.devices[0].waiting, 1U);
  pass(std::chrono::milliseconds(100));
  device().takers[1].report.waits = false;
  device().takers[1].report.waited = 100 * kMillisecond;
  scene = builder.take(look);
  EXPECT_DOUBLE_EQ(*scene.processes[1].waiting, 0.2);
}

TEST_F(TopSceneTest, FileThatBeganAnewGivesNoShareBelowNone) {
  use(0, 60 * kMillisecond);
  builder.take(look);
  pass(std::chrono::milliseconds(100));
  device().takers[0].report.used = 1;
  EXPECT_DOUBLE_EQ(*builder.take(look).processes[0].share, 0);
}

TEST_F(TopSceneTest, TenantHasItsLivingProcessesAndTheTimeOfThoseThatEnded) {
  device().takers.push_back(taker(3, "alice", 0));
  device().takers[2].report.weight = 200;
  device().takers[1].report.alive = false;
  device().tenants[1].used = 7;
  look.snapshot.processes.pop_back();
  const TopScene scene = builder.take(look);
  ASSERT_EQ(scene.tenants.size(), 2U);
  EXPECT_EQ(scene.tenants[0].tenant, "alice");
  EXPECT_EQ(scene.tenants[0].processes, 2U);
  EXPECT_EQ(scene.tenants[0].weight, 200U);
  EXPECT_EQ(scene.tenants[0].memory, 1000U);
  EXPECT_EQ(scene.tenants[1].tenant, "bob");
  EXPECT_EQ(scene.tenants[1].processes, 0U);
  EXPECT_EQ(scene.tenants[1].used, 7U);
}

TEST_F(TopSceneTest, ProcessWithoutTurnsHasARow) {
  look.snapshot.devices.clear();
  const TopScene scene = builder.take(look);
  ASSERT_EQ(scene.processes.size(), 2U);
  EXPECT_EQ(scene.processes[0].tenant, "alice") << "its entry in the ledger says so";
  EXPECT_EQ(scene.processes[0].memory, 1000U);
  EXPECT_EQ(scene.processes[0].share, std::nullopt);
  ASSERT_EQ(scene.devices.size(), 1U);
  EXPECT_EQ(scene.devices[0].name, "A GPU");
}

TEST_F(TopSceneTest, ProcessThatOnlyTheLedgerKnowsHasARow) {
  look.snapshot.devices.clear();
  look.snapshot.processes.clear();
  const TopScene scene = builder.take(look);
  ASSERT_EQ(scene.processes.size(), 1U);
  EXPECT_EQ(scene.processes[0].pid, 1U);
  EXPECT_EQ(scene.processes[0].memory, 1000U);
  EXPECT_EQ(scene.tenants.size(), 1U);
}

TEST_F(TopSceneTest, TwoProcessesOfOneNumberAreNotTakenForEachOther) {
  look.snapshot.processes.push_back(registered_process(1, "stranger"));
  const TopScene scene = builder.take(look);
  EXPECT_EQ(scene.processes[0].pid, 1U);
  EXPECT_EQ(scene.processes[0].command, "");
  EXPECT_EQ(scene.processes[0].user, "");
}

TEST_F(TopSceneTest, DevicesKeepTheirNumbers) {
  builder.take(look);
  SharedDevice other{"turns-0", "Another", "it holds something else", {}};
  look.snapshot.devices.insert(look.snapshot.devices.begin(), other);
  const TopScene scene = builder.take(look);
  ASSERT_EQ(scene.devices.size(), 2U);
  EXPECT_EQ(scene.devices[0].name, "A GPU");
  EXPECT_EQ(scene.devices[1].problem, "it holds something else");
}

TEST_F(TopSceneTest, NothingIsShownOfAnIdleMachine) {
  TopLook idle;
  idle.snapshot.devices = {SharedDevice{"turns-a", "A GPU", "", {}}};
  const TopScene scene = SceneBuilder().take(idle);
  EXPECT_THAT(scene.devices, IsEmpty());
  EXPECT_THAT(scene.processes, IsEmpty());
  EXPECT_THAT(scene.tenants, IsEmpty());
}

}  // namespace
}  // namespace cleave::cli
