#include "turns/need.h"

#include <algorithm>
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

using Verdict = WorkNeed::Verdict;

// A program that waits after every `each` launches, with `pause` from a wait's end to the next launch. A wait ends `cost` after the
// work has ended.
struct Chain {
  unsigned each = 1;
  Ns pause = 50'000;
  Ns kernel = 60'000;
  Ns cost = 2'000'000;
  Ns rest = 0;       // from the first wait's end to that of another one
  Ns turn_wait = 0;  // between the first launch and its beginning
  Ns piece = 0;      // of others
  bool in_turns = false;

  WorkNeed need{};
  Ns now = kNow;
  Ns turn_waits = 0;

  Verdict run(unsigned links) {
    Verdict latest = Verdict::unchanged;
    for (unsigned i = 0; i < links; ++i) latest = run_one();
    return latest;
  }
  Verdict run_one() {
    if (now == kNow) launch({});
    turn_waits += turn_wait;
    now += turn_wait;
    for (unsigned k = 1; k < each; ++k) {
      now += 10'000;
      launch({});
    }
    const Ns waited = now += kernel * static_cast<Ns>(each) + cost;
    now += rest;
    const WorkNeed::Waits waits{waited, now};
    now += pause;
    return launch(waits);
  }
  Verdict launch(std::optional<WorkNeed::Waits> waits) {
    return need.launched({kernel, waits, in_turns, turn_waits, piece}, now);
  }
  // Its need has shown, and from now on it takes turns.
  void begin_turns(Ns cost_in_turns, Ns turn_wait_of_each = 0) {
    ASSERT_EQ(run(WorkNeed::kLinks), Verdict::needs_turns);
    in_turns = true;
    cost = cost_in_turns;
    turn_wait = turn_wait_of_each;
  }
  void begin_turns_after_one(Ns cost_in_turns) {
    cost = 2'000'000;
    ASSERT_EQ(run_one(), Verdict::needs_turns);
    in_turns = true;
    cost = cost_in_turns;
  }
  // Makes so many waits in turns, unless they are given up before. After how many they are, if so.
  std::optional<unsigned> given_up_within(unsigned links) {
    for (unsigned i = 1; i <= links; ++i) {
      if (run_one() == Verdict::does_not_help) return i;
    }
    return std::nullopt;
  }
  // The program goes on without turns, and waits as long as at first. After how long it tries them again, if it does.
  std::optional<Ns> pause_until_the_next_trial() {
    in_turns = false;
    turn_wait = 0;
    cost = 2'000'000;
    const Ns began = now;
    while (now - began < 2 * WorkNeed::kMostPause) {
      if (run_one() == Verdict::needs_turns) return now - began;
    }
    return std::nullopt;
  }
  // So many waits that follow each other, and then a rest.
  Verdict request(unsigned waits) {
    pause = 50'000;
    run(waits - 1);
    pause = 5'000'000;
    return run_one();
  }
  // The program rests for so long after its last wait, and its need lapses.
  void rest_for(Ns time) {
    const Ns waited = now += kernel * static_cast<Ns>(each) + cost;
    now += time;
    in_turns = false;
    launch(WorkNeed::Waits{waited, waited});
  }
};

constexpr unsigned kMany = 10 * WorkNeed::kLinks;

TEST(WorkNeed, AChainOfKernelsNeedsTurns) {
  EXPECT_EQ(Chain{.each = 1}.run(WorkNeed::kLinks), Verdict::needs_turns);
  EXPECT_EQ(Chain{.each = 2}.run(WorkNeed::kLinks), Verdict::needs_turns);
}

TEST(WorkNeed, AFewWaitsDoNot) { EXPECT_EQ(Chain{}.run(WorkNeed::kLinks - 1), Verdict::unchanged); }

TEST(WorkNeed, ManyLaunchesOfOneWaitDoNot) {
  EXPECT_EQ(Chain{.each = WorkNeed::kMostLaunches + 1}.run(kMany), Verdict::unchanged);
}

TEST(WorkNeed, WhoRestsAfterEachWaitDoesNot) {
  EXPECT_EQ(Chain{.pause = 9'000'000}.run(99), Verdict::unchanged);
}

TEST(WorkNeed, LongKernelsDoNot) {
  EXPECT_EQ(Chain{.kernel = WorkNeed::kShortWork}.run(WorkNeed::kLinks), Verdict::needs_turns);
  EXPECT_EQ(Chain{.kernel = WorkNeed::kPerhapsShort}.run(99), Verdict::unchanged);
  EXPECT_EQ((Chain{.each = 2, .kernel = WorkNeed::kPerhapsShort / 2}.run(99)), Verdict::unchanged);
}

// Measured beside the time slices of others, a short kernel seems to take as long as its waits.
TEST(WorkNeed, KernelsThatArePerhapsShortDo) {
  constexpr Ns kSeeming = 2'200'000;
  Chain chain{.kernel = kSeeming, .cost = 0};
  chain.begin_turns(300'000 - kSeeming);
  EXPECT_FALSE(chain.given_up_within(kMany));
  Chain in_truth{.kernel = kSeeming, .cost = 0};
  in_truth.begin_turns(0);
  EXPECT_TRUE(in_truth.given_up_within(100 * kMany));
}

TEST(WorkNeed, LinksThatAreRareDoNot) {
  EXPECT_EQ(Chain{.cost = 2 * WorkNeed::kPeriod / WorkNeed::kLinks}.run(kMany), Verdict::unchanged);
}

TEST(WorkNeed, WaitsThatCostLittleDoNot) {
  EXPECT_EQ(Chain{.cost = WorkNeed::kCostly - 20'000}.run(kMany), Verdict::unchanged);
}

TEST(WorkNeed, WaitsThatComeAfterTheFirstOneCostNothing) {
  EXPECT_EQ((Chain{.cost = 0, .rest = 10'000'000}.run(kMany)), Verdict::unchanged);
  EXPECT_EQ((Chain{.rest = 10'000'000}.run(WorkNeed::kLinks)), Verdict::needs_turns);
}

// Without turns one wait is long, since the program itself does something for a second before it waits. That says nothing about turns.
TEST(WorkNeed, ALongPauseBeforeAWaitCountsLittle) {
  Chain chain;
  chain.cost = 900'000'000;
  chain.run_one();
  chain.cost = 100'000;
  EXPECT_EQ(chain.run(kMany), Verdict::unchanged);
  Chain costly;
  costly.run(WorkNeed::kLinks - 2);
  costly.cost = 500'000'000;
  costly.run_one();
  costly.begin_turns_after_one(3'000'000);
  EXPECT_TRUE(costly.given_up_within(100 * kMany)) << "they make waits longer than the others were";
}

TEST(WorkNeed, UnknownKernelsDoNot) {
  EXPECT_EQ(Chain{.kernel = 0}.run(kMany), Verdict::unchanged);
  Chain chain;
  chain.begin_turns(2'000'000);
  chain.kernel = 0;
  chain.now += 2 * WorkNeed::kPeriod;
  EXPECT_EQ(chain.run(kMany), Verdict::unchanged) << "nor do they keep a need";
}

TEST(WorkNeed, WhereTurnsHelpTheNeedGoesOn) {
  Chain chain;
  chain.begin_turns(300'000);
  EXPECT_FALSE(chain.given_up_within(10 * kMany));
  EXPECT_EQ(chain.run(kMany), Verdict::needs_turns);
}

TEST(WorkNeed, WhereTurnsHaveHelpedTheFirstLaunchAfterARestIsEnough) {
  Chain chain;
  chain.begin_turns(300'000);
  chain.run(kMany);
  chain.in_turns = false;
  chain.now += 10'000'000'000;
  EXPECT_EQ(chain.launch({}), Verdict::needs_turns);
  EXPECT_EQ(chain.launch({}), Verdict::unchanged) << "the next one says nothing more";
  chain.now += 10'000'000'000;
  chain.kernel = WorkNeed::kPerhapsShort;
  EXPECT_EQ(chain.launch({}), Verdict::unchanged) << "nobody needs turns for long ones";
}

TEST(WorkNeed, WhereTurnsCostMoreTheyAreGivenUpSoon) {
  Chain chain;
  chain.begin_turns(0, 5 * chain.cost);
  EXPECT_EQ(chain.given_up_within(kMany), 1 + WorkNeed::kTrial / WorkNeed::kMostOfOne)
      << "the first wait began without turns";
}

TEST(WorkNeed, WhereTurnsHelpLittleTheyAreGivenUpAfterAWhile) {
  Chain chain;
  chain.begin_turns(chain.cost * 9 / 10);
  const Ns began = chain.now;
  ASSERT_TRUE(chain.given_up_within(1000 * kMany));
  EXPECT_GT(chain.now, began + WorkNeed::kUndecided);
  EXPECT_LT(chain.now, began + WorkNeed::kUndecided + WorkNeed::kPeriod);
}

TEST(WorkNeed, WhereWaitsInTurnsTakeVeryLongTheyAreGivenUp) {
  Chain chain;
  chain.begin_turns(400'000'000);
  EXPECT_TRUE(chain.given_up_within(WorkNeed::kTrial));
}

// Others go on with what they launched before, and each of the slices in which the program's own kernels are made now waits for them.
TEST(WorkNeed, WhereTurnsHelpAfterAWhileTheNeedGoesOn) {
  Chain chain;
  chain.begin_turns(4 * chain.cost);
  const Ns began = chain.now;
  while (chain.now - began < WorkNeed::kUndecided - WorkNeed::kPeriod / 2)
    ASSERT_NE(chain.run_one(), Verdict::does_not_help);
  chain.cost = 300'000;
  EXPECT_FALSE(chain.given_up_within(10 * kMany));
}

TEST(WorkNeed, AFewLongWaitsInTurnsDoNotEndThem) {
  Chain chain;
  chain.begin_turns(0, 300'000'000);
  EXPECT_FALSE(chain.given_up_within(3));
  chain.turn_wait = 300'000;
  EXPECT_FALSE(chain.given_up_within(kMany));
  EXPECT_EQ(chain.run(WorkNeed::kLinks), Verdict::needs_turns);
}

// A program's requests come after rests in which the need lapses.
TEST(WorkNeed, WhereTurnsHaveHelpedTheNeedShowsAgainAtOnce) {
  Chain chain;
  chain.begin_turns(300'000);
  chain.run(1 + WorkNeed::kTrial);
  chain.rest_for(2 * duration_of(Need::waits));
  chain.cost = 2'000'000;
  EXPECT_EQ(chain.run(WorkNeed::kLinksAgain), Verdict::needs_turns);
  // At first the others execute what they have launched meanwhile.
  chain.in_turns = true;
  EXPECT_EQ(chain.run(2 * WorkNeed::kTrial), Verdict::needs_turns);
}

// The others may be other ones by then, beside which turns cost more than they help.
TEST(WorkNeed, WhereWaitsAreShorterAfterARestTheNeedDoesNotShowAgain) {
  for (const Ns percent : {60, 90}) {
    Chain chain;
    const Ns before = chain.kernel + chain.cost;
    chain.begin_turns(300'000);
    chain.run(1 + WorkNeed::kTrial);
    chain.rest_for(2 * duration_of(Need::waits));
    chain.cost = before * percent / 100 - chain.kernel;
    EXPECT_EQ(chain.run(kMany), percent < WorkNeed::kHelpful ? Verdict::unchanged : Verdict::needs_turns);
  }
}

TEST(WorkNeed, WhereWaitsCostLittleAfterARestTheNeedDoesNotShowAgain) {
  Chain chain;
  chain.begin_turns(300'000);
  chain.run(1 + WorkNeed::kTrial);
  chain.rest_for(2 * duration_of(Need::waits));
  chain.cost = 100'000;
  for (unsigned i = 0; i < kMany; ++i) ASSERT_EQ(chain.run_one(), Verdict::unchanged) << i;
  chain.cost = 2'000'000;
  EXPECT_EQ(chain.run(WorkNeed::kPeriod / 2'000'000), Verdict::needs_turns) << "and again if they do";
}

// Each request is long enough to show a need, and too short for all of a trial.
TEST(WorkNeed, ShortRequestsAfterRestsDoNotKeepTurnsThatDoNotHelp) {
  for (const unsigned links : {WorkNeed::kLinks + 1, WorkNeed::kLinks + 4, 4 * WorkNeed::kLinks}) {
    Chain chain;
    const Ns began = chain.now;
    unsigned in_turns = 0;
    unsigned requests = 0;
    for (; chain.now - began < 60 * WorkNeed::kMostPause; ++requests) {
      bool needs = false;
      for (unsigned i = 0; i < links; ++i) {
        const Verdict verdict = chain.run_one();
        needs |= verdict == Verdict::needs_turns;
        chain.in_turns = verdict == Verdict::needs_turns;
      }
      in_turns += needs ? 1 : 0;
      chain.rest_for(duration_of(Need::waits) + 1'000'000'000);
    }
    EXPECT_GT(in_turns, 0U);
    EXPECT_LT(in_turns, requests / 4) << links;
  }
}

TEST(WorkNeed, TurnsAreTriedAgainAfterPausesThatBecomeLonger) {
  Chain chain;
  chain.begin_turns(chain.cost, 10'000'000);
  Ns expected = WorkNeed::kFirstPause;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(chain.given_up_within(kMany));
    const auto pause = chain.pause_until_the_next_trial();
    ASSERT_TRUE(pause);
    EXPECT_GE(*pause, expected);
    EXPECT_LE(*pause, expected + WorkNeed::kPeriod);
    expected = std::min(2 * expected, WorkNeed::kMostPause);
    chain.in_turns = true;
    chain.turn_wait = 10'000'000;
  }
  // They help once: the next pause is the first one's length.
  chain.cost = 300'000;
  chain.turn_wait = 0;
  ASSERT_FALSE(chain.given_up_within(kMany));
  chain.cost = 2'000'000;
  chain.turn_wait = 10'000'000;
  ASSERT_TRUE(chain.given_up_within(kMany));
  EXPECT_LE(chain.pause_until_the_next_trial(), WorkNeed::kFirstPause + WorkNeed::kPeriod);
}

// One wait of a request waits for it in turns, and each of them for a time slice without.
TEST(WorkNeed, BesideWhatCannotBeCutTurnsAreLeftAloneIfTheyCannotHelp) {
  const auto needs_turns = [](unsigned waits, Ns piece) {
    Chain chain{.piece = piece};
    for (unsigned i = 0; i < 5 * WorkNeed::kLinks / waits; ++i) {
      if (chain.request(waits) == Verdict::needs_turns) return true;
    }
    return false;
  };
  EXPECT_TRUE(needs_turns(2, 0));
  EXPECT_TRUE(needs_turns(2, 1'500'000));
  EXPECT_FALSE(needs_turns(2, 7'000'000));
  EXPECT_TRUE(needs_turns(20, 7'000'000));
  EXPECT_FALSE(needs_turns(20, 31'000'000 * 2));
  // It has waited for something else meanwhile.
  Chain copies{.rest = 5'000'000, .piece = 7'000'000};
  EXPECT_EQ(copies.run(4 * WorkNeed::kLinks), Verdict::unchanged);
}

TEST(WorkNeed, TurnsThatHelpedAreGivenUpWhileOthersCannotBeCut) {
  Chain chain;
  chain.begin_turns(300'000);
  for (unsigned i = 0; i < WorkNeed::kTrial; ++i) ASSERT_NE(chain.request(2), Verdict::does_not_help);
  chain.piece = 7'000'000;
  unsigned given_up = 0;
  for (unsigned i = 0; i < kMany; ++i) {
    const Verdict verdict = chain.request(2);
    EXPECT_NE(verdict, Verdict::needs_turns);
    given_up += verdict == Verdict::does_not_help ? 1 : 0;
    chain.in_turns = false;
    chain.cost = 2'000'000;
  }
  EXPECT_LE(given_up, 1U) << "the second request may have said so already";
  chain.piece = 1'000'000;
  EXPECT_EQ(chain.request(2), Verdict::needs_turns);
  chain.in_turns = true;
  chain.cost = 300'000;
  for (unsigned i = 0; i < kMany; ++i) ASSERT_NE(chain.request(2), Verdict::does_not_help);
}

TEST(WorkNeed, WhatWaitsTakeWithoutTurnsIsMeasuredAnew) {
  Chain chain;
  chain.begin_turns(300'000);
  const Ns began = chain.now;
  EXPECT_EQ(chain.run(kMany), Verdict::needs_turns);
  chain.now += WorkNeed::kValid;
  EXPECT_EQ(chain.run(kMany), Verdict::needs_turns) << "it has not been launching";
  while (chain.now - began < 2 * WorkNeed::kValid) chain.run_one();
  EXPECT_EQ(chain.run(kMany), Verdict::unchanged) << "others need the turns now";
  chain.in_turns = false;
  EXPECT_EQ(chain.run(kMany), Verdict::unchanged) << "the waits cost little by now";
  EXPECT_TRUE(chain.pause_until_the_next_trial());
}

}  // namespace
}  // namespace cleave::turns
