#include "turns/need.h"

#include <algorithm>
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
  constexpr Ns kLasts = duration_of(Need::waits);
  EXPECT_TRUE(is_needed(kNow + kLasts - 1));
  EXPECT_FALSE(is_needed(kNow + kLasts));
  EXPECT_FALSE(renew(state, 1, Need::waits, kNow + kLasts / 2)) << "they know";
  EXPECT_TRUE(is_needed(kNow + kLasts));
  EXPECT_TRUE(renew(state, 1, Need::waits, kNow + 2 * kLasts));
}

// The others look when it lapses, perhaps before they can read that it has been renewed.
TEST_F(NeedTest, RenewedAtTheLastMomentTheOthersAreTold) {
  renew(state, 1, Need::waits, kNow);
  EXPECT_TRUE(renew(state, 1, Need::waits, kNow + duration_of(Need::waits) - 5'000));
}

TEST(UnknownNeed, CountsForAWhileAndThenAfterATimeWithout) {
  UnknownNeed need;
  Ns now = kNow;
  EXPECT_TRUE(need.counts(now));
  EXPECT_TRUE(need.counts(now += UnknownNeed::kLongest));
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(need.counts(now += UnknownNeed::kForgotten - 1)) << "nothing of it is learnt";
  EXPECT_TRUE(need.counts(now += UnknownNeed::kForgotten));
}

TEST_F(NeedTest, AShortNeedDoesNotEndALongOne) {
  renew(state, 1, Need::waits, kNow);
  renew(state, 1, Need::unknown, kNow);
  EXPECT_TRUE(is_needed(kNow + duration_of(Need::unknown)));
}

TEST_F(NeedTest, LongLaunchesNeedTurnsOnlyAmongThemselves) {
  renew(state, 0, Need::long_launches, kNow);
  EXPECT_FALSE(is_needed(kNow)) << "one alone";
  constexpr Ns kLasts = duration_of(Need::long_launches);
  renew(state, 3, Need::long_launches, kNow + kLasts / 2);
  EXPECT_TRUE(is_needed(kNow + kLasts / 2));
  EXPECT_FALSE(is_needed(kNow + kLasts)) << "the first one makes none any more";
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
bool chain_needs_turns(unsigned links, unsigned each, Ns pause, Ns kernel = 60'000, Ns wait = 0) {
  WorkNeed need;
  Ns now = kNow;
  bool needed = need.launched(kernel, {}, now);
  for (unsigned i = 0; i < links; ++i) {
    for (unsigned k = 1; k < each; ++k) needed = need.launched(kernel, {}, now += 10'000);
    const Ns waited = now += std::max(kernel * each, wait);
    needed = need.launched(kernel, waited, now += pause);
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

TEST(WorkNeed, LongKernelsDoNot) {
  EXPECT_TRUE(chain_needs_turns(WorkNeed::kLinks, 1, 50'000, WorkNeed::kShortWork));
  EXPECT_FALSE(chain_needs_turns(99, 1, 50'000, WorkNeed::kShortWork + 1));
  EXPECT_FALSE(chain_needs_turns(99, 2, 50'000, WorkNeed::kShortWork));
}

TEST(WorkNeed, LinksThatAreRareDoNot) {
  const Ns wait = 2 * WorkNeed::kPeriod / WorkNeed::kLinks;
  EXPECT_FALSE(chain_needs_turns(10 * WorkNeed::kLinks, 1, 50'000, 60'000, wait));
}

}  // namespace
}  // namespace cleave::turns
