#include "turns/scheduler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ostream>
#include <random>

#include <gtest/gtest.h>

#include "tests/unit/turns/simulated_device.h"

namespace cleave::turns {
namespace {

constexpr Ns kSlice = 250 * kMicrosecond;

struct SchedulerTest : testing::Test {
  Scheduler scheduler;
  SimulatedDevice device{scheduler};

  // One more participant that comes every `period` for `work`.
  std::uint32_t add_client(Ns work, Ns period, Priority priority = Priority::normal) {
    return device.add(kDefaultWeight, priority, {.work = work, .period = period});
  }
};

TEST_F(SchedulerTest, SharesFollowWeightsThreeToOne) {
  const auto a = device.add_job(300);
  const auto b = device.add_job(100);
  device.run_for(kSecond);
  EXPECT_NEAR(device.share(a), 0.75, 0.01);
  EXPECT_NEAR(device.share(b), 0.25, 0.01);
}

TEST_F(SchedulerTest, SharesFollowWeightsFourToOneOverASecond) {
  for (const std::uint32_t weight : {400U, 300U, 200U, 100U}) device.add_job(weight);
  device.run_for(kSecond);
  for (std::uint32_t slot = 0; slot < 4; ++slot) EXPECT_NEAR(device.share(slot), 0.4 - 0.1 * slot, 0.01);
}

TEST_F(SchedulerTest, SixtyFourParticipantsGetEqualSharesAndNoneWaitsMuchLongerThanARound) {
  constexpr unsigned kJobs = 64;
  for (unsigned i = 0; i < kJobs; ++i) device.add_job();
  device.run_for(10 * kSecond);
  double sum = 0;
  double squares = 0;
  Ns longest = 0;
  for (std::uint32_t slot = 0; slot < kJobs; ++slot) {
    sum += device.share(slot);
    squares += device.share(slot) * device.share(slot);
    longest = std::max(longest, device.clients[slot].longest_wait);
  }
  EXPECT_GE(sum * sum / (kJobs * squares), 0.99);
  EXPECT_LE(static_cast<double>(longest), 1.5 * static_cast<double>(kJobs * scheduler.quantum()));
}

class BesideJobs : public SchedulerTest, public testing::WithParamInterface<unsigned> {
 protected:
  // The longest wait of a client that comes every 10 ms for `work`, once it has been there for a while.
  Ns longest_wait(Ns work) {
    for (unsigned i = 0; i < GetParam(); ++i) device.add_job();
    const auto client = add_client(work, 10 * kMillisecond);
    device.run_for(kSecond);
    device.forget();
    device.run_for(5 * kSecond);
    EXPECT_NEAR(static_cast<double>(device.clients[client].used), 500.0 * static_cast<double>(work), 2e6);
    return device.clients[client].longest_wait;
  }
};

TEST_P(BesideJobs, ALightClientIsServedAtTheNextSliceBoundary) {
  EXPECT_LE(longest_wait(kMillisecond), kSlice);
}

TEST_P(BesideJobs, AVeryLightClientIsServedAtTheNextSliceBoundary) {
  EXPECT_LE(longest_wait(60 * kMicrosecond), kSlice);
}

TEST_P(BesideJobs, ANewcomerThatNeedsLittleIsServedAtTheNextSliceBoundaryFromTheStart) {
  for (unsigned i = 0; i < GetParam(); ++i) device.add_job();
  device.run_for(kSecond);
  const auto client = add_client(kMillisecond, 10 * kMillisecond);
  device.run_for(kSecond);
  EXPECT_LE(device.clients[client].longest_wait, kSlice);
}

INSTANTIATE_TEST_SUITE_P(Scheduler, BesideJobs, testing::Values(1, 4, 8));

TEST_F(SchedulerTest, AClientThatNeedsALittleMoreThanItsShareIsStillServedAtOnce) {
  for (int i = 0; i < 8; ++i) device.add_job();
  const auto client = add_client(1'800 * kMicrosecond, 10 * kMillisecond);  // its share would be 1.1 ms
  device.run_for(kSecond);
  device.forget();
  device.run_for(5 * kSecond);
  EXPECT_LE(device.clients[client].longest_wait, kSlice);
  EXPECT_NEAR(device.share(client), 0.18, 0.005);
}

TEST_F(SchedulerTest, ASleepersCreditIsBounded) {
  const auto job = device.add_job();
  const auto sleeper =
      device.add(kDefaultWeight, Priority::normal, {.work = kMillisecond, .period = 100 * kSecond});
  device.run_for(99 * kSecond);
  device.clients[sleeper].behaviour = {};  // from now on it wants all
  device.run_for(2 * kSecond);
  device.forget();
  // Its credit of one quantum is long used up: equal shares.
  device.run_for(kSecond);
  EXPECT_NEAR(device.share(job), 0.5, 0.01);
}

TEST_F(SchedulerTest, ASleeperThatComesBackHasTheDeviceForThreeQuantaAtMost) {
  const auto job = device.add_job();
  const auto sleeper =
      device.add(kDefaultWeight, Priority::normal, {.work = kMillisecond, .period = 10 * kSecond});
  device.run_for(10 * kSecond);
  device.clients[sleeper].behaviour.work = kForever;
  device.forget();
  device.run_for(100 * kMillisecond);
  EXPECT_GT(device.clients[sleeper].used, device.clients[job].used);
  EXPECT_LE(device.clients[sleeper].used - device.clients[job].used, 3 * scheduler.quantum());
  EXPECT_LE(device.clients[job].longest_wait, 3 * scheduler.quantum());
}

TEST_F(SchedulerTest, WhoRestsATenthOfTheTimeGetsNoMoreThanThreeTimesItsShare) {
  for (int i = 0; i < 4; ++i) device.add_job();
  const auto client =
      device.add(kDefaultWeight, Priority::normal, {.work = 9 * kMillisecond, .period = 10 * kMillisecond});
  device.run_for(10 * kSecond);
  EXPECT_GE(device.share(client), 0.19);
  EXPECT_LE(device.share(client), 0.6);
}

TEST_F(SchedulerTest, ADebtOutlastsARest) {
  // Kernels of 200 ms that are not cut, with a little pause after each.
  device.add_job();
  const auto rude = device.add(kDefaultWeight, Priority::normal,
                               {.work = 200 * kMillisecond, .period = 201 * kMillisecond, .slice = kSecond});
  device.run_for(20 * kSecond);
  EXPECT_NEAR(device.share(rude), 0.5, 0.02);
}

TEST_F(SchedulerTest, EachClassHasItsLeastShare) {
  const auto idle = device.add_job(kMaxWeight, Priority::idle);
  const auto background = device.add_job(kMaxWeight, Priority::background);
  const auto normal = device.add_job(1, Priority::normal);
  const auto high = device.add_job(1, Priority::high);
  device.run_for(10 * kSecond);
  EXPECT_EQ(device.clients[idle].used, 0);
  EXPECT_NEAR(device.share(background), 0.05, 0.002);
  EXPECT_NEAR(device.share(normal), 0.05, 0.002);
  EXPECT_NEAR(device.share(high), 0.90, 0.004);
  // A least turn is owed after 20 ms.
  for (const auto slot : {normal, background})
    EXPECT_LE(device.clients[slot].longest_wait, 30 * kMillisecond);
  EXPECT_LE(device.clients[high].longest_wait, 2 * Scheduler::kLeastTurn + 2 * kSlice);
}

using Behaviour = SimulatedDevice::Behaviour;

// Two clients, as they would share the device ideally.
struct Pair {
  const char* name;
  Priority first, second;
  Behaviour behaves_first, behaves_second;
  double ideal_first, ideal_second;
};
void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.name; }
const Behaviour kJob{};
const Behaviour kUncut{.slice = 300 * kMillisecond};
const Behaviour kBrief{.work = 2 * kMillisecond, .period = 10 * kMillisecond};
const Pair kPairs[] = {
    {"high, normal", Priority::high, Priority::normal, kJob, kJob, 0.95, 0.05},
    {"high, background", Priority::high, Priority::background, kJob, kJob, 0.95, 0.05},
    {"normal, background", Priority::normal, Priority::background, kJob, kJob, 0.95, 0.05},
    {"normal, idle", Priority::normal, Priority::idle, kJob, kJob, 1, 0},
    {"background, idle", Priority::background, Priority::idle, kJob, kJob, 1, 0},
    {"high, normal that cannot be cut", Priority::high, Priority::normal, kJob, kUncut, 0.95, 0.05},
    {"high that cannot be cut, normal", Priority::high, Priority::normal, kUncut, kJob, 0.95, 0.05},
    {"high now and then, normal", Priority::high, Priority::normal, kBrief, kJob, 0.2, 0.8},
    {"normal now and then, background", Priority::normal, Priority::background, kBrief, kJob, 0.2, 0.8},
    {"normal now and then, idle", Priority::normal, Priority::idle, kBrief, kJob, 0.2, 0.8},
};

class Pairs : public SchedulerTest, public testing::WithParamInterface<Pair> {};

TEST_P(Pairs, ShareTheDeviceAsIntended) {
  const Pair& pair = GetParam();
  const auto first = device.add(kDefaultWeight, pair.first, pair.behaves_first);
  const auto second = device.add(kDefaultWeight, pair.second, pair.behaves_second);
  // Many of the longest launches.
  device.run_for(200 * std::max({pair.behaves_first.slice, pair.behaves_second.slice, 50 * kMillisecond}));
  EXPECT_NEAR(device.share(first), pair.ideal_first, 0.01) << pair.name;
  EXPECT_NEAR(device.share(second), pair.ideal_second, 0.01) << pair.name;
}
INSTANTIATE_TEST_SUITE_P(SchedulerTest, Pairs, testing::ValuesIn(kPairs));

TEST_F(SchedulerTest, WhatOthersWriteIntoTheFileOwesAClassLittle) {
  device.add_job(kDefaultWeight, Priority::normal);
  const auto high = add_client(2 * kMillisecond, 10 * kMillisecond, Priority::high);
  for (int i = 0; i < 10; ++i) {
    device.header.owed.fill(std::numeric_limits<Ns>::max());
    sanitize(device.view(), device.now);
    device.run_for(kSecond);
  }
  // While it is served it is owed its share of that time, too.
  constexpr Ns kLongest = kMostOwed * Scheduler::kLeastShare / (Scheduler::kLeastShare - 1);
  EXPECT_LE(device.clients[high].longest_wait, kLongest + kSlice);
}

TEST_F(SchedulerTest, WhoComesNowAndThenWaitsForALeastTurnAtMost) {
  device.add_job(kDefaultWeight, Priority::normal);
  const auto high = add_client(2 * kMillisecond, 10 * kMillisecond, Priority::high);
  device.run_for(10 * kSecond);
  EXPECT_LE(device.clients[high].longest_wait, Scheduler::kLeastTurn + kSlice);
}

TEST_F(SchedulerTest, BackgroundGetsWhatIsLeft) {
  const auto background = device.add_job(kDefaultWeight, Priority::background);
  const auto normal = add_client(6 * kMillisecond, 10 * kMillisecond);
  device.run_for(kSecond);
  EXPECT_NEAR(device.share(background), 0.4, 0.01);
  EXPECT_LE(device.clients[normal].longest_wait, kSlice);
}

TEST_F(SchedulerTest, WhoNeverYieldsPaysWithItsNextTurn) {
  const auto a = device.add_job();
  // Kernels of 50 ms that may not be cut.
  const auto whole = device.add(kDefaultWeight, Priority::normal, {.slice = 50 * kMillisecond});
  const auto never =
      device.add(kDefaultWeight, Priority::normal, {.work = 40 * kMillisecond, .yields = false});
  device.run_for(10 * kSecond);
  EXPECT_NEAR(device.share(a), 1.0 / 3, 0.03);
  EXPECT_NEAR(device.share(whole), 1.0 / 3, 0.03);
  EXPECT_NEAR(device.share(never), 1.0 / 3, 0.03);
}

TEST_F(SchedulerTest, VirtualTimeMayOverflow) {
  const std::uint64_t late = std::numeric_limits<std::uint64_t>::max() - 50 * kMillisecond;
  device.header.fair_clock = late;
  device.header.origin.fill(late);
  const auto a = device.add_job(300);
  const auto b = device.add_job(100);
  const auto client = add_client(kMillisecond, 10 * kMillisecond);
  device.run_for(kSecond);
  EXPECT_LT(device.header.origin[1], late);
  EXPECT_LT(device.header.fair_clock, late);
  EXPECT_NEAR(device.share(a) / device.share(b), 3, 0.1);
  EXPECT_NEAR(device.share(client), 0.1, 0.01);
}

TEST_F(SchedulerTest, WeightsMayChangeWhileRunning) {
  // Who had the device at a change may have some quanta more or less in what follows: one in 200 is within the tolerance.
  const Ns window = 200 * scheduler.quantum();
  const auto a = device.add_job();
  const auto b = device.add_job();
  device.run_for(333 * kMillisecond);
  scheduler.change(device.view(), a, 300, Priority::normal, device.now);
  device.forget();
  device.run_for(window);
  EXPECT_NEAR(device.share(a), 0.75, 0.01);
  scheduler.change(device.view(), b, 300, Priority::normal, device.now);
  device.forget();
  device.run_for(window);
  EXPECT_NEAR(device.share(b), 0.5, 0.01);
  scheduler.change(device.view(), a, 0, Priority::background, device.now);
  EXPECT_EQ(device.participant(a).weight, 1U);
  device.forget();
  device.run_for(window);
  EXPECT_GE(device.share(b), 0.94);
}

TEST_F(SchedulerTest, WeightsThatChangeAllTheTimeGainNothing) {
  const auto steady = device.add_job();
  const auto fickle = device.add_job();
  std::mt19937_64 random(3);
  while (device.now < 10 * kSecond) {
    device.run_for(static_cast<Ns>(random() % static_cast<std::uint64_t>(2 * scheduler.quantum())));
    const std::uint32_t weight = random() % 2 == 0 ? kDefaultWeight : kDefaultWeight / 4;
    scheduler.change(device.view(), fickle, weight, Priority::normal, device.now);
  }
  EXPECT_LE(device.share(fickle), 0.5);
  EXPECT_GE(device.share(fickle), 0.2);
  EXPECT_NEAR(device.share(steady) + device.share(fickle), 1, 0.001);
}

TEST_F(SchedulerTest, AHolderThatChangesItsWeightAtEachSliceYieldsAllTheSame) {
  const auto steady = device.add_job();
  const auto fickle = device.add_job();
  for (std::uint32_t i = 0; device.now < kSecond; ++i) {
    device.run_for(kSlice);
    scheduler.change(device.view(), fickle, kDefaultWeight - i % 2, Priority::normal, device.now);
  }
  EXPECT_NEAR(device.share(fickle), 0.5, 0.05);
  EXPECT_LE(device.clients[steady].longest_wait, 4 * scheduler.quantum());
}

TEST_F(SchedulerTest, APickIsAmongThoseThatAskWhateverTheNumbersAre) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::array<Participant, 8> participants;
    Header header;
    const auto scramble = [&](auto& what) {
      auto* const bytes = reinterpret_cast<unsigned char*>(&what);
      for (std::size_t i = 0; i < sizeof what; ++i) bytes[i] = static_cast<unsigned char>(random());
    };
    scramble(header);
    header.slots = 8;
    for (Participant& p : participants) scramble(p);
    const View state{header, participants};
    const Ns now = kSecond;
    sanitize(state, now);
    const std::uint32_t picked = scheduler.pick(state, now);
    EXPECT_EQ(picked == kNobody,
              std::none_of(participants.begin(), participants.end(), [](const Participant& p) {
                return p.nonce != 0 && p.asks != 0 && (!is_throttled(p, now) || p.borrows != 0);
              }));
    if (picked == kNobody) continue;
    ASSERT_TRUE(asks(state, picked));
    header.holder = picked;
    static_cast<void>(scheduler.should_yield(state, now));
    scheduler.charge(state, picked, 0, 2 * kMaxSpread);
    scheduler.change(state, picked, 5, Priority::high, now);
    scheduler.rest(state, picked);
    scheduler.ask(state, picked, now);
    sanitize(state, now);
  }
}

}  // namespace
}  // namespace cleave::turns
