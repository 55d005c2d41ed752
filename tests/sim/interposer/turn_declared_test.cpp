// Launches while another process shares the device, before and after one of them has declared an intent.

#include <chrono>

#include "tests/kit/eventually.h"
#include "tests/sim/interposer/turn_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class TurnDeclaredTest : public testing::Test, public TurnsFolder, public InterposerFixture {
 protected:
  TurnDeclaredTest()
      : InterposerFixture(in_turns(folder.path(), base::TurnMode::automatic)),
        other(forks, kit::with(beside(folder.path(), driver), &turns::Options::declared, false)) {
    std::string problem;
    EXPECT_TRUE(other.enter(problem)) << problem;
    driver.cost("add", [](const sim::Launch& launch) {
      return base::Nanoseconds(2'000) * static_cast<int>(launch.global[0]);
    });
  }

  // Until nothing of this process is left on the device, nor any event of it.
  void TearDown() override { EXPECT_TRUE(is_given_back(driver, other)); }

  void launch_some(int count) {
    for (int i = 0; i < count; ++i, ++launches_) EXPECT_EQ(launch(kernel), CL_SUCCESS);
  }
  static std::uint64_t in_turns_so_far() {
    return interpose::interposer().turns.report().devices.at(0).launches;
  }
  bool takes_turns() {
    const std::uint64_t before = in_turns_so_far();
    launch_some(1);
    return in_turns_so_far() > before;
  }

  base::ForkLocks forks;
  turns::Turns other;
  const cl_kernel kernel = make_kernel();
  int launches_ = 0;
};

TEST_F(TurnDeclaredTest, WithoutOneLaunchesAreMadeAsIfAlone) {
  launch_some(4);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(in_turns_so_far(), 0U);
  EXPECT_EQ(driver.launches().size(), 4 * 20U) << "cut for the VMs, and at once";
  expect_each_item_ran(launches_);
}

TEST_F(TurnDeclaredTest, OnesOwnEndsThat) {
  launch_some(4);
  interpose::interposer().turns.of(device);
  other.set_weight(300);
  EXPECT_TRUE(kit::eventually([&] { return takes_turns(); }));
  other.leave();
  EXPECT_TRUE(kit::eventually([&] { return !takes_turns(); }));
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  expect_each_item_ran(launches_);
}

// What was enqueued before turns began has to end first.
TEST_F(TurnDeclaredTest, ABacklogIsNoStall) {
  launch_some(200);  // 1.6 s
  other.set_weight(300);
  ASSERT_TRUE(kit::eventually([&] { return interpose::interposer().turns.contended(); }));
  launch_some(8);
  const auto figures = interpose::interposer().turns.report().devices.at(0);
  EXPECT_EQ(figures.state, "joined");
  EXPECT_GT(figures.launches, 0U);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  expect_each_item_ran(launches_);
}

}  // namespace
}  // namespace cleave
