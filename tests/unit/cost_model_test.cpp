// The cost model over made-up devices: curves of all shapes, noise with wild times in it, changes. All of it
// is the same in every run.
#include "learn/cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace cleave::learn {
namespace {

// Numbers that are the same everywhere, which the standard library's distributions are not.
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : state_(seed) {}
  double uniform(double least, double most) { return least + (most - least) * next(); }
  double spread(double least, double most) { return std::exp(uniform(std::log(least), std::log(most))); }
  double exponential() { return -std::log(1 - next()); }
  double normal() { return std::sqrt(2 * exponential()) * std::cos(6.283185307179586 * next()); }

 private:
  double next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<double>((x ^ (x >> 31U)) >> 11U) / 9007199254740992.0;
  }
  std::uint64_t state_;
};

using Loss = std::function<double(double slices)>;

// So much for each slice.
Loss line(RandomSource& random) {
  const double each = random.spread(0.0002, 0.03);
  return [=](double n) { return each * (n - 1); };
}
// Nothing until slices no longer fill the device, as over several queues.
Loss knee(RandomSource& random) {
  const double from = random.spread(20, 600);
  const double each = random.spread(0.0005, 0.01);
  return [=](double n) { return n < 2 ? 0 : 0.001 + each * std::max(0.0, n - from); };
}
Loss bent(RandomSource& random) {
  const double each = random.spread(1e-5, 0.003);
  return [=](double n) { return each * std::pow(n - 1, 1.5); };
}
// Something for being split at all.
Loss fixed(RandomSource& random) {
  const double all = random.spread(0.005, 0.06);
  const double each = random.spread(0.0002, 0.03);
  return [=](double n) { return n < 2 ? 0 : all + each * (n - 1); };
}
// Some numbers happen to fit the device better than others.
Loss waves(RandomSource& random) {
  const double each = random.spread(0.0002, 0.03);
  const double phase = random.uniform(0, 6.28);
  return [=](double n) { return each * (n - 1) * (1 + 0.15 * std::sin(n * 1.7 + phase)); };
}
Loss none(RandomSource&) {
  return [](double) { return 0.0; };
}

struct Shape {
  const char* name;
  Loss (*make)(RandomSource&);
};
constexpr Shape kShapes[] = {{"line", line},   {"knee", knee},   {"bent", bent},
                             {"fixed", fixed}, {"waves", waves}, {"none", none}};

struct Rates {
  double over = 0;        // the loss is beyond the budget
  double far_over = 0;    // by more than a hundredth of the time
  double under_half = 0;  // less than half as many slices as possible
  double lost = 0;        // on average, while it was found out
};

base::Nanoseconds time_of(double ns) { return base::Nanoseconds(static_cast<std::int64_t>(ns)); }

constexpr double kBudget = 0.05;
constexpr int kDevices = 300;

// Noise adds up to a few times `noise`, and every twentieth time much more.
double noisy(RandomSource& random, double noise) {
  const double usual = std::abs(random.normal()) * noise;
  return noise > 0 && random.uniform(0, 1) < 0.05 ? usual + 0.3 * random.exponential() : usual;
}

Rates rates_after(int launches, const Shape& shape, double noise, Search search = Search::trials) {
  Rates rates;
  RandomSource random(7);
  for (int device = 0; device < kDevices; ++device) {
    const Loss loss = shape.make(random);
    const double whole = random.spread(1e5, 1e10);
    const auto limit = static_cast<std::size_t>(random.uniform(40, 640));
    CostModel cost;
    for (int i = 0; i < launches; ++i) {
      const Choice choice = cost.within_budget(kBudget, limit, search).value_or(Choice{});
      const auto n = static_cast<double>(choice.slices);
      rates.lost += loss(n) / launches / kDevices;
      const double warming = i == 0 ? 0.5 : 0;
      cost.observe(choice.slices, time_of(whole * (1 + loss(n)) * (1 + noisy(random, noise) + warming)));
    }
    std::size_t possible = 1;
    for (std::size_t n = 2; n <= limit; ++n) {
      if (loss(static_cast<double>(n)) <= kBudget) possible = n;
    }
    const std::size_t chosen = cost.within_budget(kBudget, limit, search).value_or(Choice{}).slices;
    const double lost = loss(static_cast<double>(chosen));
    rates.over += lost > kBudget + 1e-9 ? 1.0 / kDevices : 0;
    rates.far_over += lost > kBudget + 0.01 ? 1.0 / kDevices : 0;
    rates.under_half += chosen * 2 < possible ? 1.0 / kDevices : 0;
  }
  return rates;
}

void expect_seldom_over(const Rates& rates, const Shape& shape, double noise) {
  std::printf(
      "%-6s noise %.3f: over %4.1f %%, far over %4.1f %%, under half %4.1f %%, lost meanwhile %.1f %%\n",
      shape.name, noise, rates.over * 100, rates.far_over * 100, rates.under_half * 100, rates.lost * 100);
  EXPECT_LE(rates.over, noise == 0 ? 0.04 : 0.12) << shape.name << " " << noise;
  EXPECT_LE(rates.far_over, noise == 0 ? 0.01 : 0.03) << shape.name << " " << noise;
}

TEST(CostModel, ConvergesInTenLaunches) {
  for (const double noise : {0.0, 0.005, 0.01}) {
    for (const Shape& shape : kShapes) {
      const Rates rates = rates_after(10, shape, noise);
      expect_seldom_over(rates, shape, noise);
      EXPECT_LE(rates.under_half, noise == 0 ? 0.02 : 0.14) << shape.name << " " << noise;
      EXPECT_LE(rates.lost, 1.25 * kBudget) << shape.name << " " << noise;
    }
  }
}

// Slower, but at the cost of the numbers that are in use.
TEST(CostModel, ClimbsWithoutTrials) {
  for (const double noise : {0.0, 0.005, 0.01}) {
    for (const Shape& shape : kShapes) {
      const Rates rates = rates_after(100, shape, noise, Search::climb);
      expect_seldom_over(rates, shape, noise);
      EXPECT_LE(rates.under_half, 0.25) << shape.name << " " << noise;
      EXPECT_LE(rates.lost, kBudget) << shape.name << " " << noise;
    }
  }
}

TEST(CostModel, ClimbsByNoMoreThanTwice) {
  CostModel cost;
  std::size_t most = 1;
  for (int i = 0; i < 60; ++i) {
    const auto choice = cost.within_budget(kBudget, 640, Search::climb);
    ASSERT_TRUE(choice);
    EXPECT_LE(choice->slices, 2 * most) << i;
    EXPECT_TRUE(!choice->trial || choice->slices == 1) << i;
    most = std::max(most, choice->slices);
    cost.observe(choice->slices, time_of(1e7));
  }
  EXPECT_GE(most, 500U) << "nothing is lost";
}

// Else every number of slices would look cheap, for as long as that time is the only one.
TEST(CostModel, ClimbMeasuresAnUnsplitTimeAgainThatIsTooLong) {
  CostModel cost;
  const auto observe = [&](std::size_t slices, double more) {
    cost.observe(slices, time_of(1e7 * (1 + 0.02 * static_cast<double>(slices - 1)) * (1 + more)));
  };
  observe(1, 0);
  observe(1, 0.25);  // disturbed
  std::size_t most = 1;
  for (int i = 0; i < 40; ++i) {
    const std::size_t slices = cost.within_budget(kBudget, 640, Search::climb)->slices;
    most = std::max(most, slices);
    observe(slices, 0);
  }
  EXPECT_LE(most, 4U);
}

// One such time would end the climb.
TEST(CostModel, ClimbGoesOnAfterATimeThatWasTooLong) {
  CostModel cost;
  std::size_t last = 1;
  bool disturbed = false;
  for (int i = 0; i < 200; ++i) {
    last = cost.within_budget(kBudget, 64, Search::climb)->slices;
    const bool disturb = last == 8 && !std::exchange(disturbed, disturbed || last == 8);
    cost.observe(last, time_of(1e7 * (disturb ? 1.2 : 1)));
  }
  EXPECT_TRUE(disturbed);
  EXPECT_GE(last, 50U);
}

// Launches of that cost until the last of `launches`; returns the last choice that was no trial.
std::size_t run(CostModel& cost, int launches, double whole, double each, std::size_t limit = 640,
                double budget = kBudget) {
  std::size_t last = 0;
  for (int i = 0; i < launches; ++i) {
    const Choice choice = cost.within_budget(budget, limit, Search::trials).value_or(Choice{});
    if (!choice.trial) last = choice.slices;
    cost.observe(choice.slices, time_of(whole * (1 + each * static_cast<double>(choice.slices - 1))));
  }
  return last;
}

TEST(CostModel, IsStableOnceConverged) {
  CostModel cost;
  const std::size_t found = run(cost, 12, 1e7, 0.001);
  EXPECT_GE(found, 25U);
  EXPECT_LE(found, 51U);
  std::size_t others = 0;
  for (int i = 0; i < 200; ++i) {
    const auto choice = cost.within_budget(kBudget, 640, Search::trials);
    others += choice->slices == 1 || choice->slices > 51 ? 1 : 0;
    cost.observe(choice->slices, time_of(1e7 * (1 + 0.001 * static_cast<double>(choice->slices - 1))));
  }
  EXPECT_LE(others, 20U) << "whole launches and second looks are rare";
}

TEST(CostModel, AdaptsToChanges) {
  CostModel cost;
  run(cost, 12, 1e7, 0.0004);
  EXPECT_GE(run(cost, 20, 1e7, 0.0004), 60U);
  run(cost, 20, 1e6, 0.004);  // a tenth of the work, so that slices cost ten times as much of it
  const std::size_t found = run(cost, 10, 1e6, 0.004);
  EXPECT_GE(found, 6U);
  EXPECT_LE(found, 14U);
}

TEST(CostModel, NeverExceedsTheSliceLimit) {
  for (std::size_t limit = 1; limit < 40; ++limit) {
    CostModel cost;
    for (int i = 0; i < 30; ++i) {
      const auto choice = cost.within_budget(kBudget, limit, Search::trials);
      ASSERT_TRUE(choice);
      ASSERT_GE(choice->slices, 1U);
      ASSERT_LE(choice->slices, limit);
      cost.observe(choice->slices, time_of(1e6));
    }
    const auto settled = cost.within_budget(kBudget, limit, Search::none);
    ASSERT_TRUE(settled);
    EXPECT_EQ(settled->slices, limit) << "nothing is lost";
  }
}

TEST(CostModel, LeavesLaunchUnsplitWhereTwoSlicesExceedTheBudget) {
  CostModel cost;
  EXPECT_EQ(run(cost, 12, 1e5, 0.2), 1U);
}

TEST(CostModel, HasNoEstimateWithoutMeasurements) {
  CostModel cost;
  EXPECT_FALSE(cost.within_budget(kBudget, 100, Search::none));
  EXPECT_EQ(cost.duration().count(), 0);
  EXPECT_EQ(cost.within_budget(kBudget, 100, Search::trials)->slices, 1U);
  cost.observe(0, time_of(1e6));
  cost.observe(7, base::Nanoseconds(0));
  cost.observe(7, base::Nanoseconds(-5));
  EXPECT_EQ(cost.launches(), 0U);
}

TEST(CostModel, DurationIgnoresOutliers) {
  CostModel cost;
  cost.observe(1, time_of(5e6));
  EXPECT_EQ(cost.duration(), time_of(5e6));
  for (const double time : {4e6, 4.1e6, 9e9, 4.2e6, 4e6}) cost.observe(1, time_of(time));
  EXPECT_EQ(cost.duration(), time_of(4.2e6));
}

TEST(CostModel, ContinuesFromASavedState) {
  CostModel first;
  const std::size_t found = run(first, 30, 1e7, 0.001);
  CostModel second = CostModel::from(first.losses(), first.duration());
  EXPECT_NEAR(static_cast<double>(second.duration().count()), static_cast<double>(first.duration().count()),
              1);
  const auto choice = second.within_budget(kBudget, 640, Search::trials);
  EXPECT_GE(choice->slices * 2, found) << "at its first launch";
  EXPECT_LE(choice->slices, 51U);
  const std::size_t later = run(second, 12, 1e7, 0.004);
  EXPECT_LE(later, 14U) << "and finds out if it does not hold here";
}

TEST(CostModel, RejectsInconsistentState) {
  using Losses = CostModel::Losses;
  const auto duration = time_of(1e6);
  for (const Losses& losses : {Losses{{{1, 0.1}}}, Losses{{{16, -0.1}}}, Losses{{{16, 0.2}, {8, 0.3}}},
                               Losses{{{16, 0.2}, {32, 0.1}}}, Losses{{{16, std::nan("")}}},
                               Losses{{{2'000'000, 0.1}}}, Losses{{{16, INFINITY}}}}) {
    EXPECT_FALSE(CostModel::from(losses, duration).within_budget(kBudget, 100, Search::none));
  }
  EXPECT_FALSE(
      CostModel::from({{{16, 0.01}}}, base::Nanoseconds(-1)).within_budget(kBudget, 100, Search::none));
}

}  // namespace
}  // namespace cleave::learn
