#include "learn/offload.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cleave::learn {
namespace {

using base::Nanoseconds;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Link kFast{microseconds(50), 1e9};
constexpr Link kSlow{milliseconds(100), 125'000};  // 1 Mbit/s

OffloadCandidate here(Nanoseconds time, const Traffic& traffic, unsigned runs = kRunsToKnow) {
  RunCost cost = cost_of_run(time, traffic, std::nullopt);
  cost.runs = runs;
  return {std::nullopt, true, cost};
}

OffloadCandidate there(const Link& link, std::optional<Nanoseconds> compute, const Traffic& traffic) {
  OffloadCandidate candidate{link, true, std::nullopt};
  if (!compute) return candidate;
  candidate.known = cost_of_run(*compute + cost_of(link, traffic), traffic, link);
  candidate.known->runs = kRunsToKnow;
  return candidate;
}

TEST(Offload, LinkCostsItsRoundTripsAndItsBytes) {
  EXPECT_EQ(cost_of(kSlow, {10, 125'000}), seconds(2));
  EXPECT_EQ(cost_of({milliseconds(1), 0}, {3, 1'000'000}), milliseconds(3));
  EXPECT_EQ(cost_of(kFast, {}), Nanoseconds(0));
}

TEST(Offload, PredictionForTheMeasuredLinkIsWhatWasMeasured) {
  const Traffic traffic{20, 1'000'000};
  for (const auto waited : {milliseconds(1), milliseconds(500), milliseconds(20'000)}) {
    EXPECT_NEAR(static_cast<double>(predict(cost_of_run(waited, traffic, kSlow), kSlow).count()),
                static_cast<double>(Nanoseconds(waited).count()), 10)
        << waited.count();
  }
  EXPECT_EQ(predict(cost_of_run(milliseconds(7), traffic, std::nullopt), std::nullopt), milliseconds(7));
}

TEST(Offload, PredictionFollowsTheLink) {
  const RunCost cost = cost_of_run(seconds(3), {10, 125'000}, kSlow);  // 1 s of it is computing
  EXPECT_EQ(predict(cost, Link{milliseconds(200), 125'000}), seconds(4));
  EXPECT_EQ(predict(cost, Link{milliseconds(100), 62'500}), seconds(4));
  EXPECT_EQ(predict(cost, Link{Nanoseconds(0), 0}), seconds(1));
}

TEST(Offload, DataThatTookLessThanTheLinksRateSaysCountsByWhatItTook) {
  // 8 s of transfers, of which compression has left 2.
  const RunCost cost = cost_of_run(seconds(2), {0, 1'000'000}, kSlow);
  EXPECT_EQ(cost.compute, Nanoseconds(0));
  EXPECT_EQ(predict(cost, Link{Nanoseconds(0), 250'000}), seconds(1));
}

TEST(Offload, ShorterTimesCountAtOnceAndLongerOnesBitByBit) {
  const Traffic traffic{10, 1000};
  const auto run = [&](int time) { return cost_of_run(milliseconds(time), traffic, std::nullopt); };
  RunCost known = updated(std::nullopt, run(100));
  EXPECT_EQ(known.runs, 1U);
  known = updated(known, run(60));
  EXPECT_EQ(known.compute, milliseconds(60));
  known = updated(known, run(100));
  EXPECT_EQ(known.compute, milliseconds(70));
  EXPECT_EQ(known.runs, 3U);
}

TEST(Offload, OtherWorkIsLearntAnew) {
  RunCost known = cost_of_run(milliseconds(1), {10, 1000}, std::nullopt);
  known.runs = 7;
  EXPECT_EQ(updated(known, cost_of_run(milliseconds(5), {10, 2001}, std::nullopt)).runs, 8U);
  for (const Traffic traffic : {Traffic{10, 2002}, Traffic{10, 400}, Traffic{22, 1000}, Traffic{2, 1000}}) {
    const RunCost now = updated(known, cost_of_run(milliseconds(5), traffic, std::nullopt));
    EXPECT_EQ(now.runs, 1U) << traffic.round_trips << " " << traffic.bytes;
    EXPECT_EQ(now.compute, milliseconds(5));
  }
}

struct Case {
  std::string name;
  std::vector<OffloadCandidate> candidates;
  OffloadReason reason;
  bool remote_first;
};

TEST(Offload, RuleDecidesByPredictedTimes) {
  const Traffic little{10, 50'000};    // 1.4 s over the slow link, 0.55 ms over the fast one
  const Traffic much{10, 10'000'000};  // 81 s, 10.5 ms
  const OffloadCandidate lost{kFast, false, std::nullopt};
  const std::vector<Case> cases{
      {"nothing is known", {{}, there(kFast, std::nullopt, little)}, OffloadReason::nothing_learnt, false},
      {"one run is not enough",
       {here(seconds(1), little, 1), there(kFast, std::nullopt, little)},
       OffloadReason::nothing_learnt,
       false},
      {"the device elsewhere alone is known",
       {{}, there(kFast, milliseconds(1), little)},
       OffloadReason::nothing_learnt,
       false},
      {"there is no server", {here(seconds(1), little)}, OffloadReason::unreachable, false},
      {"the server does not answer", {here(seconds(1), little), lost}, OffloadReason::unreachable, false},
      {"another one does",
       {here(seconds(1), little), lost, there(kFast, milliseconds(5), little)},
       OffloadReason::faster,
       true},
      {"it is tried",
       {here(seconds(1), little), there(kFast, std::nullopt, little)},
       OffloadReason::trial,
       true},
      {"the link speaks against it",
       {here(seconds(1), little), there(kSlow, std::nullopt, little)},
       OffloadReason::link_too_slow,
       false},
      {"longer work is tried over the same link",
       {here(seconds(2), little), there(kSlow, std::nullopt, little)},
       OffloadReason::trial,
       true},
      {"much data over the slow link",
       {here(seconds(2), much), there(kSlow, std::nullopt, much)},
       OffloadReason::link_too_slow,
       false},
      {"a slower device",
       {here(seconds(1), much), there(kFast, seconds(1), much)},
       OffloadReason::slower,
       false},
      {"hardly a faster one",
       {here(milliseconds(100), little), there(kFast, milliseconds(95), little)},
       OffloadReason::slower,
       false},
      {"a faster one",
       {here(milliseconds(100), little), there(kFast, milliseconds(80), little)},
       OffloadReason::faster,
       true},
      {"the better device of this machine counts",
       {here(seconds(1), little), here(milliseconds(50), little), there(kFast, milliseconds(80), little)},
       OffloadReason::slower,
       false},
  };
  for (const Case& one : cases) {
    const OffloadDecision decision = decide_offload(one.candidates);
    EXPECT_EQ(decision.reason, one.reason) << one.name << ": " << describe(decision);
    EXPECT_EQ(decision.remote_first, one.remote_first) << one.name;
    EXPECT_EQ(describe(decision).starts_with(one.remote_first ? "remote" : "local"), true)
        << describe(decision);
  }
}

TEST(Offload, KnownLinkThatHasBecomeSlowDecidesOtherwise) {
  const Traffic little{10, 50'000};
  OffloadCandidate remote = there(kFast, milliseconds(5), little);
  EXPECT_TRUE(decide_offload(std::vector{here(seconds(1), little), remote}).remote_first);
  remote.link = kSlow;
  EXPECT_FALSE(decide_offload(std::vector{here(seconds(1), little), remote}).remote_first);
}

TEST(Offload, DevicesElsewhereAreOrderedByTheirPredictions) {
  const Traffic little{10, 50'000};
  const std::vector<OffloadCandidate> candidates{{kFast, false, std::nullopt},
                                                 there(kFast, milliseconds(30), little),
                                                 here(seconds(9), little),
                                                 there(kSlow, milliseconds(30), little),
                                                 there(kFast, milliseconds(20), little)};
  EXPECT_EQ(decide_offload(candidates).remotes, (std::vector<std::size_t>{4, 1, 3, 0}));
}

TEST(Offload, DevicesElsewhereKeepTheirOrderWhileNothingIsKnown) {
  const std::vector<OffloadCandidate> candidates{
      {}, {kSlow, true, std::nullopt}, {kFast, true, std::nullopt}};
  EXPECT_EQ(decide_offload(candidates).remotes, (std::vector<std::size_t>{1, 2}));
}

}  // namespace
}  // namespace cleave::learn
