#include "turns/need.h"

#include <vector>

#include <gtest/gtest.h>

namespace cleave::turns {
namespace {

constexpr Ns kNow = 1'000'000'000'000;

struct NeedTest : testing::Test {
  Header header;
  std::vector<Participant> participants{4};
  View state{header, participants};

  NeedTest() {
    header.slots = 4;
    for (Participant& p : participants) p.nonce = 1;
  }
  [[nodiscard]] bool is_needed(Ns now) const { return needed_until(state).includes(now); }
};

TEST_F(NeedTest, NobodyNeedsTurnsWithoutAReason) { EXPECT_FALSE(is_needed(kNow)); }

TEST_F(NeedTest, SettingsAreANeedForGood) {
  participants[2].needs = 1;
  EXPECT_TRUE(is_needed(kNow));
  EXPECT_TRUE(needed_until(state).always);
}

TEST_F(NeedTest, AWaitingProgramsNeedLapsesUnlessItIsRenewed) {
  EXPECT_TRUE(renew(state, 1, Need::waits, kNow)) << "the others have to be told";
  EXPECT_TRUE(is_needed(kNow + kNeedLasts - 1));
  EXPECT_FALSE(is_needed(kNow + kNeedLasts));
  EXPECT_FALSE(renew(state, 1, Need::waits, kNow + kNeedLasts / 2)) << "they know";
  EXPECT_TRUE(is_needed(kNow + kNeedLasts));
  EXPECT_TRUE(renew(state, 1, Need::waits, kNow + 2 * kNeedLasts));
}

TEST_F(NeedTest, AShortNeedDoesNotEndALongOne) {
  renew(state, 1, Need::waits, kNow);
  renew(state, 1, Need::unknown, kNow);
  EXPECT_TRUE(is_needed(kNow + kUnknownLasts));
}

TEST_F(NeedTest, LongLaunchesNeedTurnsOnlyAmongThemselves) {
  renew(state, 0, Need::long_launches, kNow);
  EXPECT_FALSE(is_needed(kNow)) << "one alone";
  renew(state, 3, Need::long_launches, kNow + kNeedLasts / 2);
  EXPECT_TRUE(is_needed(kNow + kNeedLasts / 2));
  EXPECT_FALSE(is_needed(kNow + kNeedLasts)) << "the first one makes none any more";
}

TEST_F(NeedTest, WhoHasLeftNeedsNothing) {
  participants[2].needs = 1;
  participants[2].nonce = 0;
  header.slots = 2;
  renew(state, 3, Need::waits, kNow);
  EXPECT_FALSE(is_needed(kNow));
}

TEST_F(NeedTest, WhateverTheFileSaysANeedLapses) {
  participants[0].needs_until = kNow * 100;
  participants[1].long_until = participants[2].long_until = -kNow;
  participants[3].needs_until = -1;
  sanitize(state, kNow);
  EXPECT_TRUE(is_needed(kNow));
  EXPECT_FALSE(is_needed(kNow + kLongestNeed));
}

// Launches by a program that waits after every `each` of them, with `pause` from a wait's end to the next launch.
bool chain_needs_turns(unsigned links, unsigned each, Ns pause, Ns kernel = 60'000) {
  WorkNeed need;
  Ns now = kNow;
  bool needed = need.launched({}, now);
  for (unsigned i = 0; i < links; ++i) {
    for (unsigned k = 1; k < each; ++k) needed = need.launched({}, now += 10'000);
    const Ns waited = now += kernel;
    needed = need.launched(waited, now += pause);
  }
  return needed;
}

TEST(WorkNeed, AChainOfKernelsNeedsTurns) {
  EXPECT_TRUE(chain_needs_turns(WorkNeed::kLinks, 1, 50'000));
  EXPECT_TRUE(chain_needs_turns(WorkNeed::kLinks, 2, 50'000));
}

TEST(WorkNeed, AFewWaitsDoNot) { EXPECT_FALSE(chain_needs_turns(WorkNeed::kLinks - 1, 1, 50'000)); }

TEST(WorkNeed, ManyLaunchesOfOneWaitDoNot) {
  EXPECT_FALSE(chain_needs_turns(10 * WorkNeed::kLinks, WorkNeed::kMostLaunches + 1, 50'000));
}

TEST(WorkNeed, WhoRestsAfterEachWaitDoesNot) { EXPECT_FALSE(chain_needs_turns(99, 1, 9'000'000)); }

TEST(WorkNeed, LinksThatAreRareDoNot) {
  EXPECT_FALSE(chain_needs_turns(10 * WorkNeed::kLinks, 1, 50'000, 2 * WorkNeed::kPeriod / WorkNeed::kLinks));
}

}  // namespace
}  // namespace cleave::turns
