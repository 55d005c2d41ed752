// What the statistics say of launches that took turns, or did not.

#include <chrono>

#include "tests/kit/eventually.h"
#include "tests/sim/interposer/turn_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST_F(TurnTest, StatisticsSayWhatWasWaitedForAndDoNotAddItToTheLaunch) {
  share();
  interrupt([&] { driver.clock().sleep_for(10s); });
  {
    const kit::Event enqueued_here = launch_event(kernel);  // the feeder makes those without an event
    EXPECT_EQ(cl.wait({enqueued_here}), CL_SUCCESS);
  }
  neighbour.join();
  EXPECT_GT(statistics().added, 1ms) << "the slices are waited for";
  EXPECT_LT(statistics().added, 1s);
  expect_device_is_given_back();
  const observe::TurnFigures figures = turn_figures();
  EXPECT_EQ(figures.file, turns::SharedFile::name_for(beside(folder.path(), driver).identity));
  EXPECT_EQ(figures.state, "joined");
  EXPECT_EQ(figures.problem, "");
  EXPECT_EQ(figures.launches, 1U);
  EXPECT_GE(figures.turns, 2U);
  EXPECT_GE(figures.waited, 10s);
  EXPECT_GE(figures.longest_wait, 10s);
  EXPECT_LE(figures.longest_wait, figures.waited);
  EXPECT_GE(figures.held, 4ms) << "what the launch takes";
  EXPECT_EQ(figures.stalls, 0U);
  driver.clock().sleep_for(10s);
  EXPECT_EQ(turn_figures().held, figures.held) << "it has been given away";
}

TEST_F(TurnTest, FedLaunchesCountOnceAndAddNothing) {
  share();
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  await_feeder();
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(turn_figures().launches, 1U);
  EXPECT_EQ(statistics().split, 1U);
  EXPECT_EQ(statistics().added, 0ns);
  expect_device_is_given_back();
}

TEST_F(TurnTest, StatisticsSayWhichLaunchesTookNoTurn) {
  share();
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  const cl_event opens = user_event();
  ASSERT_EQ(launch(kernel, nullptr, {opens}), CL_SUCCESS);
  ASSERT_EQ(cl.clSetUserEventStatus(opens, CL_COMPLETE), CL_SUCCESS);
  const observe::TurnsSummary report = interpose::interposer().turns.report();
  ASSERT_EQ(report.exempt.size(), 3U);
  EXPECT_STREQ(report.exempt[0].first, "user_event");
  EXPECT_EQ(report.exempt[0].second, 1U);
  EXPECT_EQ(report.exempt[1].second + report.exempt[2].second, 0U);
  EXPECT_EQ(report.devices.at(0).launches, 1U);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  expect_device_is_given_back();
}

}  // namespace
}  // namespace cleave
