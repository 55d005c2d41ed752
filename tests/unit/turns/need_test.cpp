#include "turns/need.h"

#include <optional>
#include <set>
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
    for (std::uint64_t nonce = 1; Participant & p : participants) p.nonce = nonce++;
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
  participants[1].coarse_until = kNow * 100;
  participants[1].piece = 255;
  participants[1].busy_until = kNow * 100;
  participants[2].busy_until = -kNow;
  sanitize(state, kNow);
  EXPECT_TRUE(is_needed(kNow));
  EXPECT_FALSE(is_needed(kNow + kLongestNeed));
  EXPECT_EQ(longest_piece_of_others(state, 0, kNow + kLongestNeed), 0);
  EXPECT_EQ(busy_others(state, 0, kNow + kLongestNeed), 0);
}

TEST_F(NeedTest, TheLongestPieceOfOthersIsKnownForAWhile) {
  EXPECT_EQ(longest_piece_of_others(state, 0, kNow), 0);
  show_piece(state, 0, 9'000'000, kNow);
  EXPECT_EQ(longest_piece_of_others(state, 0, kNow), 0) << "its own";
  show_piece(state, 1, 1'500'000, kNow);
  show_piece(state, 2, 4'000'000, kNow);
  EXPECT_EQ(longest_piece_of_others(state, 0, kNow), 4'000'000);
  EXPECT_EQ(longest_piece_of_others(state, 1, kNow), 9'000'000);
  EXPECT_EQ(longest_piece_of_others(state, 0, kNow + kPieceLasts), 0);
  show_piece(state, 2, 1'000'000, kNow + 1 + kPieceLasts);
  EXPECT_EQ(longest_piece_of_others(state, 0, kNow + 1 + kPieceLasts), 1'000'000);
  participants[2].nonce = 0;
  EXPECT_EQ(longest_piece_of_others(state, 0, kNow + 1 + kPieceLasts), 0);
}

TEST_F(NeedTest, OthersAreBusyForAWhile) {
  EXPECT_EQ(busy_others(state, 0, kNow), 0);
  show_busy(state, 0, kNow);
  EXPECT_EQ(busy_others(state, 0, kNow), 0) << "itself";
  show_busy(state, 1, kNow);
  const std::uint64_t one = busy_others(state, 0, kNow);
  show_busy(state, 2, kNow + kBusyLasts / 2);
  const std::uint64_t both = busy_others(state, 0, kNow + kBusyLasts / 2);
  const std::uint64_t other = busy_others(state, 0, kNow + kBusyLasts);
  EXPECT_EQ((std::set<std::uint64_t>{0, one, both, other}).size(), 4);
  EXPECT_EQ(busy_others(state, 0, kNow + 2 * kBusyLasts), 0);
}

TEST_F(NeedTest, WhoWaitsForItsTurnIsBusy) {
  show_busy(state, 1, kNow);
  participants[1].asks = 1;
  EXPECT_NE(busy_others(state, 0, kNow + 9 * kBusyLasts), 0);
  participants[1].nonce = 0;
  EXPECT_EQ(busy_others(state, 0, kNow), 0) << "it has left";
}

TEST_F(NeedTest, NoPieceIsShownAsAShorterOne) {
  show_piece(state, 1, 1'000'001, kNow);
  EXPECT_GE(longest_piece_of_others(state, 0, kNow), 1'000'001);
  EXPECT_LE(longest_piece_of_others(state, 0, kNow), 1'200'000);
  show_piece(state, 1, 1'000'000'000, kNow);
  EXPECT_GE(longest_piece_of_others(state, 0, kNow), 30'000'000) << "as long as can be shown";
}

TEST_F(NeedTest, ANeedThatIsWithdrawnLapsesAtOnce) {
  renew(state, 1, Need::waits, kNow);
  withdraw(state, 1, kNow + 1);
  EXPECT_FALSE(is_needed(kNow + 1));
  EXPECT_TRUE(renew(state, 1, Need::unknown, kNow + 2)) << "the others have to be told";
  renew(state, 2, Need::waits, kNow);
  withdraw(state, 1, kNow + 3);
  EXPECT_TRUE(is_needed(kNow + 3)) << "another one's";
}

TEST(ShownPiece, IsTheLongestOfTheLastSecondsAndToldAgainInTime) {
  ShownPiece shown;
  EXPECT_EQ(shown.note(30'000'000, kNow), 30'000'000);
  EXPECT_EQ(shown.note(2'000'000, kNow + 1), std::nullopt) << "they know";
  EXPECT_EQ(shown.note(2'000'000, kNow + kPieceLasts / 2), 30'000'000) << "before it lapses";
  EXPECT_EQ(shown.note(2'000'000, kNow + kPieceLasts), 2'000'000) << "none has been as long for a while";
  EXPECT_EQ(shown.note(1'000'000, kNow + kPieceLasts + 1), std::nullopt);
  EXPECT_EQ(shown.note(3'000'000, kNow + kPieceLasts + 2), 3'000'000) << "at once";
}

TEST(ShownPiece, NeverLapsesWhileItGoesOn) {
  ShownPiece shown;
  Ns told_at = kNow - kPieceLasts;
  for (Ns now = kNow; now < kNow + 20 * kPieceLasts; now += kPieceLasts / 100) {
    const auto told = shown.note(5'000'000, now);
    if (told) told_at = now;
    ASSERT_EQ(told.value_or(5'000'000), 5'000'000);
    ASSERT_LT(now - told_at, kPieceLasts);
  }
}

}  // namespace
}  // namespace cleave::turns
