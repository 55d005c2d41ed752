// A program's need of turns beside others that come and go.

#include "turns/needs_by_company.h"

#include <gtest/gtest.h>

namespace cleave::turns {
namespace {

using Verdict = WorkNeed::Verdict;

constexpr Ns kMilli = 1'000'000;
constexpr std::uint64_t kLong = 17, kGentle = 23;  // neighbours

// A program that waits for each of its kernels. Beside kLong a wait takes 2 ms more, unless turns are taken.
struct Program {
  NeedsByCompany needs{};
  Ns now = 1'000'000'000'000;
  Ns wait = 0;
  bool in_turns = false;

  Verdict run(std::uint64_t beside, unsigned waits) {
    Verdict latest = Verdict::unchanged;
    for (unsigned i = 0; i < waits; ++i) {
      const WorkNeed::Waits ended{now += wait, now};
      now += kMilli / 20;
      latest = needs.launched({.expected = kMilli / 10,
                               .waits = wait != 0 ? std::optional(ended) : std::nullopt,
                               .in_turns = in_turns},
                              beside, now);
      if (latest == Verdict::needs_turns) in_turns = true;
      if (latest == Verdict::does_not_help) in_turns = false;
      wait = kMilli / 5 + (beside == kLong && !in_turns ? 2 * kMilli : 0);
    }
    return latest;
  }
};

constexpr unsigned kEnough = 3 * WorkNeed::kLinks;

TEST(NeedsByCompany, ANeedEndsWithThoseWhoMadeIt) {
  Program program;
  EXPECT_EQ(program.run(kLong, kEnough), Verdict::needs_turns);
  EXPECT_EQ(program.run(kGentle, 1), Verdict::does_not_help);
  EXPECT_EQ(program.run(kGentle, kEnough), Verdict::unchanged);
  EXPECT_FALSE(program.in_turns);
}

TEST(NeedsByCompany, AndShowsAgainWithTheirFirstWait) {
  Program program;
  program.run(kLong, kEnough);
  program.run(kGentle, kEnough);
  EXPECT_EQ(program.run(kLong, 2), Verdict::needs_turns);
}

TEST(NeedsByCompany, NobodyIsASetOfOthers) {
  Program program;
  program.run(kLong, kEnough);
  EXPECT_EQ(program.run(0, 1), Verdict::does_not_help);
  EXPECT_EQ(program.run(kLong, 2), Verdict::needs_turns);
}

TEST(NeedsByCompany, AWaitThatBeganBesideOthersSaysNothing) {
  Program program;
  for (unsigned i = 0; i < kEnough; ++i) {
    EXPECT_EQ(program.run(kLong, 1), Verdict::unchanged);
    EXPECT_EQ(program.run(kGentle, 1), Verdict::unchanged);
  }
}

TEST(NeedsByCompany, SomeSetsOfOthersAreRemembered) {
  Program program;
  program.run(kLong, kEnough);
  for (std::uint64_t others = 100; others < 100 + NeedsByCompany::kMost - 1; ++others) program.run(others, 1);
  EXPECT_EQ(program.run(kLong, 2), Verdict::needs_turns);
  for (std::uint64_t others = 100; others < 100 + NeedsByCompany::kMost; ++others) program.run(others, 1);
  EXPECT_EQ(program.run(kLong, 2), Verdict::unchanged) << "that was too many";
  EXPECT_EQ(program.run(kLong, kEnough), Verdict::needs_turns);
}

}  // namespace
}  // namespace cleave::turns
