// When a program that waits for its kernels needs turns.

#include <optional>

#include <gtest/gtest.h>

#include "turns/need.h"

namespace cleave::turns {
namespace {

constexpr Ns kStart = 1'000'000'000'000;

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
  Ns now = kStart;
  Ns turn_waits = 0;

  Verdict run(unsigned links) {
    Verdict latest = Verdict::unchanged;
    for (unsigned i = 0; i < links; ++i) latest = run_one();
    return latest;
  }
  Verdict run_one() {
    if (now == kStart) launch({});
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
  // Turns have helped, and since then the program has rested for longer than its need lasts.
  void be_helped_and_rest() {
    begin_turns(300'000);
    run(1 + WorkNeed::kTrial);
    rest_for(2 * duration_of(Need::waits));
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
  chain.be_helped_and_rest();
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
    chain.be_helped_and_rest();
    chain.cost = before * percent / 100 - chain.kernel;
    EXPECT_EQ(chain.run(kMany), percent < WorkNeed::kHelpful ? Verdict::unchanged : Verdict::needs_turns);
  }
}

TEST(WorkNeed, WhereWaitsCostLittleAfterARestTheNeedDoesNotShowAgain) {
  Chain chain;
  chain.be_helped_and_rest();
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
