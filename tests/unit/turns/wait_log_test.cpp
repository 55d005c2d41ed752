#include "turns/wait_log.h"

#include <array>

#include <gtest/gtest.h>

namespace cleave::turns {
namespace {

struct WaitLogTest : testing::Test {
  Header header;
  std::array<Participant, 40> participants;
  WaitLog log;

  WaitLogTest() {
    header.slots = 3;
    for (unsigned i = 0; i < 3; ++i) {
      participants[i].nonce = i + 1;
      participants[i].pid = 100 + i;
    }
  }
  void step(Standing standing, Ns now) {
    log.follow({header, participants}, 0, standing, now);
    log.note();
  }
};

TEST_F(WaitLogTest, WhoHadTheDeviceMeanwhileKeptItWaiting) {
  set_tenant(participants[1], "alice");
  participants[1].used = 5000;
  step(Standing::waits, 1000);
  participants[1].used += 60;
  participants[2].used += 30;
  step(Standing::waits, 1050);
  step(Standing::holds, 1100);
  const WaitCauses causes = log.causes();
  EXPECT_EQ(causes.waited, 100);
  ASSERT_EQ(causes.others.size(), 2U);
  EXPECT_EQ(causes.others[0].tenant, "alice");
  EXPECT_EQ(causes.others[0].waited, 60);
  EXPECT_EQ(causes.others[1].pid, 102U);
  EXPECT_EQ(causes.others[1].waited, 30);
  EXPECT_EQ(participants[1].imposed, 60);
  EXPECT_EQ(participants[2].imposed, 30);
}

TEST_F(WaitLogTest, ProcessesOfATenantAreOneCause) {
  for (const unsigned i : {1U, 2U}) set_tenant(participants[i], "alice");
  step(Standing::waits, 1000);
  participants[1].used += 60;
  participants[2].used += 30;
  step(Standing::holds, 1100);
  ASSERT_EQ(log.causes().others.size(), 1U);
  EXPECT_EQ(log.causes().others[0].waited, 90);
  EXPECT_EQ(log.causes().others[0].pid, 0U);
}

TEST_F(WaitLogTest, WhoJoinsMeanwhileCountsFromThen) {
  step(Standing::waits, 1000);
  participants[1] = {};
  participants[1].nonce = 77;
  participants[1].pid = 555;
  participants[1].used = 40;
  step(Standing::holds, 1100);
  ASSERT_EQ(log.causes().others.size(), 1U);
  EXPECT_EQ(log.causes().others[0].pid, 555U);
  EXPECT_EQ(log.causes().others[0].waited, 40);
}

TEST_F(WaitLogTest, NobodyIsBlamedForMoreThanTheWait) {
  step(Standing::waits, 1000);
  participants[1].used += 1'000'000;
  participants[2].used -= 1;  // written by others
  step(Standing::holds, 1100);
  Ns sum = 0;
  for (const WaitCause& cause : log.causes().others) sum += cause.waited;
  EXPECT_NEAR(static_cast<double>(sum), 100, 1);
}

TEST_F(WaitLogTest, TheOwnCapIsTold) {
  step(Standing::waits, 1000);
  participants[0].capped += 70;
  step(Standing::holds, 1100);
  EXPECT_EQ(log.causes().capped, 70);
}

TEST_F(WaitLogTest, WhileItsOwnCapHoldsItBackItWaitsForNobodyElse) {
  step(Standing::waits, 1000);
  participants[0].capped += 80;
  participants[1].used += 60;
  participants[2].used += 40;
  step(Standing::holds, 1100);
  const WaitCauses causes = log.causes();
  EXPECT_EQ(causes.capped, 80);
  ASSERT_EQ(causes.others.size(), 2U);
  EXPECT_EQ(causes.others[0].waited, 12);
  EXPECT_EQ(causes.others[1].waited, 8);
}

TEST_F(WaitLogTest, AWaitThatIsGivenUpIsNotCounted) {
  step(Standing::waits, 1000);
  participants[1].used += 60;
  step(Standing::rests, 1100);
  step(Standing::holds, 1200);
  EXPECT_EQ(log.causes().waited, 0);
  EXPECT_TRUE(log.causes().others.empty());
}

TEST_F(WaitLogTest, ManyCausesAreToldTogether) {
  header.slots = 40;
  for (unsigned i = 0; i < 40; ++i) {
    participants[i].nonce = i + 1;
    participants[i].pid = 100 + i;
  }
  step(Standing::waits, 1000);
  for (unsigned i = 1; i < 40; ++i) participants[i].used += 2;
  step(Standing::holds, 1100);
  const WaitCauses causes = log.causes();
  EXPECT_EQ(causes.others.size(), WaitLog::kMaxCauses);
  EXPECT_EQ(causes.others.back().pid, 0U);
  Ns sum = 0;
  for (const WaitCause& cause : causes.others) sum += cause.waited;
  EXPECT_EQ(sum, 78);
}

}  // namespace
}  // namespace cleave::turns
