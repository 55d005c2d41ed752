// What the policy `pressure` decides from launch to launch, and what that costs the job, without a driver: with a restraint that
// the test sets, and with the control loop in virtual time.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "interpose/policies/policy.h"
#include "neighbours/restraint.h"
#include "tests/unit/plan/decided_launch.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;
using base::Nanoseconds;
using base::SplitPolicy;
using neighbours::kMaxRestraint;
using neighbours::RestraintControl;
using plan::UnsplitReason;

constexpr SplitPolicy kPressure{.kind = SplitPolicy::Kind::pressure, .share = 0.03};
constexpr unsigned kVms = 5;

// By which share a launch in so many slices takes longer than unsplit.
using Loss = std::function<double(std::size_t slices)>;

Loss for_each_slice(double share) {
  return [=](std::size_t slices) { return slices < 2 ? 0 : share * static_cast<double>(slices); };
}

// A program that waits for each of its launches, on a host with five VMs, that was never run before.
class Program {
 public:
  Program(const SplitPolicy& policy, Loss loss, Nanoseconds unsplit = kUnsplit)
      : loss_of_(std::move(loss)), unsplit_(unsplit) {
    settings_.policy = policy;
    settings_.policy.budget = kBudget;
    policy_ = make_policy({settings_, costs_});
  }

  static constexpr double kBudget = 0.05;
  static constexpr Nanoseconds kUnsplit = 1s;

  // One launch, at that restraint; its slices.
  std::size_t launch(unsigned restraint) {
    DecidedLaunch launch(settings_, kVms, restraint);
    launch.identify();
    const PolicyDecision decision = policy_->decide(launch);
    reason_ = decision.unsplit_reason;
    const std::size_t slices = reason_ ? 1 : decision.slices;
    loss_ = loss_of_(slices);
    duration_ = Nanoseconds(
        static_cast<std::int64_t>(std::llround(static_cast<double>(unsplit_.count()) * (1 + loss_))));
    if (measured_) costs_.observe(decision.key, slices, duration_);
    return slices;
  }

  // Of the last launch: by how much longer it took than unsplit, as a share; and how long.
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] Nanoseconds duration() const { return duration_; }
  // Why it was not split.
  [[nodiscard]] std::optional<UnsplitReason> reason() const { return reason_; }

  // No time of a launch arrives.
  void hide_times() { measured_ = false; }
  // What another run has learnt.
  void inherit(const Program& before) { costs_.restore(before.costs_.measured_lines()); }

 private:
  const Loss loss_of_;
  const Nanoseconds unsplit_;
  base::Settings settings_;
  learn::CostTable costs_;
  std::unique_ptr<Policy> policy_;
  double loss_ = 0;
  Nanoseconds duration_{0};
  std::optional<UnsplitReason> reason_;
  bool measured_ = true;
};

PolicyDecision decide(unsigned vms, unsigned restraint, bool denied = false) {
  base::Settings settings;
  settings.policy = kPressure;
  settings.min_items = 480;
  learn::CostTable costs;
  const auto policy = make_policy({settings, costs});
  DecidedLaunch launch(settings, vms, restraint);
  launch.facts().denied = denied;
  return policy->decide(launch);
}

// Five VMs and α 4: 20 slices at most where launches are not measured.
TEST(PressurePolicy, SplitsByTheRestraint) {
  for (const unsigned none : {0U, 1U}) EXPECT_EQ(decide(5, none).unsplit_reason, UnsplitReason::calm);
  EXPECT_EQ(decide(5, 2).slices, 2U);
  EXPECT_EQ(decide(5, 4).slices, 8U);
  EXPECT_EQ(decide(5, kMaxRestraint).slices, 20U);
  EXPECT_EQ(decide(1, kMaxRestraint).unsplit_reason, UnsplitReason::alone);
  EXPECT_EQ(decide(5, kMaxRestraint, true).unsplit_reason, UnsplitReason::denied);
}

constexpr unsigned kLearning = 20;  // launches until a level's number is known

// On average: like `budget`, it now and then tries a number again that cost too much.
TEST(PressurePolicy, NeverLosesMoreThanTheBudget) {
  for (const double each : {0.0002, 0.001, 0.007, 0.1}) {
    std::size_t before = 1;
    for (unsigned restraint = 0; restraint <= kMaxRestraint; ++restraint) {
      Program program(kPressure, for_each_slice(each));
      for (unsigned i = 0; i < kLearning; ++i) program.launch(restraint);
      std::array<std::size_t, 41> slices{};
      double lost = 0;
      for (std::size_t& count : slices) {
        count = program.launch(restraint);
        lost += program.loss();
      }
      EXPECT_LE(lost / slices.size(), Program::kBudget) << each << ' ' << restraint;
      const auto usual = slices.begin() + slices.size() / 2;
      std::nth_element(slices.begin(), usual, slices.end());
      EXPECT_LE(for_each_slice(each)(*usual), Program::kBudget) << each << ' ' << restraint;
      EXPECT_GE(*usual, before) << each << ' ' << restraint;
      EXPECT_TRUE(*usual == 1 || restraint >= 2) << "sleeping waits alone";
      before = *usual;
    }
    // Not because it never splits: with all restraint it does what the budget pays for.
    EXPECT_TRUE(before > 2 || each > 0.007) << each;
  }
}

// Where the loss grows as fast as the number, or faster, not even once.
TEST(PressurePolicy, TriesNoNumberThatMayCostMoreThanTheBudget) {
  for (const double exponent : {1.0, 1.3, 2.0}) {
    const Loss loss = [=](std::size_t slices) {
      return slices < 2 ? 0 : 0.0002 * std::pow(static_cast<double>(slices), exponent);
    };
    for (unsigned restraint = 2; restraint <= kMaxRestraint; ++restraint) {
      Program program(kPressure, loss);
      std::size_t most = 1;
      for (unsigned i = 0; i < 200; ++i) {
        const std::size_t slices = program.launch(restraint);
        EXPECT_LE(slices, 2 * most) << restraint << ' ' << i;
        EXPECT_LE(slices, neighbours::slices_at(restraint, 500)) << restraint << ' ' << i;
        if (exponent == 1) {
          EXPECT_LE(program.loss(), Program::kBudget) << restraint << ' ' << i;
        }
        most = std::max(most, slices);
      }
    }
  }
}

TEST(PressurePolicy, ClimbsWithAllRestraintToTheNumberOfTheBudget) {
  for (const double each : {0.0002, 0.001, 0.007}) {
    Program pressure(kPressure, for_each_slice(each));
    Program budget({.kind = SplitPolicy::Kind::budget}, for_each_slice(each));
    std::size_t most = 1;
    std::size_t budgets = 1;
    for (unsigned i = 0; i < 100; ++i) {
      most = std::max(most, pressure.launch(kMaxRestraint));
      budgets = budget.launch(0);
    }
    EXPECT_GE(most * 4, budgets * 3) << each;
  }
}

// A number that costs too much is left again, and tried again but rarely.
TEST(PressurePolicy, StepsBackWhereTheLossExceedsTheBudget) {
  const Loss knee = [](std::size_t slices) { return slices < 2 ? 0 : slices <= 10 ? 0.002 : 0.15; };
  Program program(kPressure, knee);
  unsigned over = 0;
  std::vector<std::size_t> last;
  for (unsigned i = 0; i < 300; ++i) {
    const std::size_t slices = program.launch(5);
    if (program.loss() > Program::kBudget) ++over;
    if (i >= 250 && slices > 1) last.push_back(slices);
  }
  EXPECT_LE(over, 6U);
  ASSERT_FALSE(last.empty());
  EXPECT_GE(*std::min_element(last.begin(), last.end()), 8U);
}

// More would cost the neighbours processor time for nothing, although they cost the job nothing.
TEST(PressurePolicy, MakesNoSliceShorterThanHalfAMillisecond) {
  constexpr std::pair<Nanoseconds, std::size_t> kMost[] = {
      {300us, 1}, {990us, 1}, {2200us, 4}, {41ms, 64}, {110ms, 128}};
  for (const auto& [unsplit, expected] : kMost) {
    Program program(kPressure, for_each_slice(0), unsplit);
    std::size_t most = 1;
    for (unsigned i = 0; i < 60; ++i) most = std::max(most, program.launch(kMaxRestraint));
    EXPECT_LE(most, expected) << unsplit.count();
    EXPECT_GE(4 * most, 3 * expected) << unsplit.count();
    if (expected == 1) {
      EXPECT_EQ(program.reason(), UnsplitReason::below_quantum) << unsplit.count();
    }
  }
}

// The restraint moves as it may, from a launch to the next.
TEST(PressurePolicy, StaysWithinTheBudgetWhileTheRestraintMoves) {
  Program program(kPressure, for_each_slice(0.001));
  double lost = 0;
  constexpr unsigned kLaunches = 400;
  for (unsigned i = 0; i < kLaunches; ++i) {
    const unsigned restraint = i * 5 / 3 % (kMaxRestraint + 1);
    const std::size_t slices = program.launch(restraint);
    lost += program.loss();
    EXPECT_TRUE(slices == 1 || restraint >= 2) << i;
  }
  EXPECT_GT(lost, 0);
  EXPECT_LE(lost / kLaunches, Program::kBudget);
}

// Launches without restraint are unsplit anyway: none is held back for a measurement.
TEST(PressurePolicy, UnsplitLaunchesWithoutRestraintAreTheMeasure) {
  Program program(kPressure, for_each_slice(0.0005));
  for (unsigned i = 0; i < 20; ++i) EXPECT_EQ(program.launch(i % 2), 1U);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(program.launch(2), 2U) << i;
}

TEST(PressurePolicy, BeginsWithWhatAnotherRunHasLearnt) {
  Program first(kPressure, for_each_slice(0.0005));
  for (unsigned i = 0; i < 40; ++i) first.launch(5);
  Program second(kPressure, for_each_slice(0.0005));
  second.inherit(first);
  EXPECT_EQ(second.launch(5), 16U);
  for (unsigned i = 0; i < 40; ++i) EXPECT_LE(second.launch(3), 4U) << i;
}

TEST(PressurePolicy, SplitsByAlphaWhatCannotBeMeasured) {
  Program program(kPressure, for_each_slice(0.0005));
  program.hide_times();
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(program.launch(kMaxRestraint), 1U) << "a time may arrive yet";
  for (unsigned i = 0; i < 10; ++i) EXPECT_EQ(program.launch(kMaxRestraint), 20U);
  EXPECT_EQ(program.launch(3), 4U);
  EXPECT_EQ(program.launch(1), 1U);
}

// The job's launches one after the other, the control loop, and a host whose pressure depends on whether the job's launch that runs
// is split, smoothed over a second and told twice a second.
class FirstRun {
 public:
  // The pressure alongside an unsplit launch, how long the monitor takes to answer, and the pressure alongside slices.
  FirstRun(Loss loss, Nanoseconds unsplit, double pressure, Nanoseconds answer, double split_pressure = 0)
      : program_(kPressure, std::move(loss), unsplit),
        pressure_(pressure),
        split_pressure_(split_pressure),
        answer_(answer) {}

  // The job's loss over the launches.
  double lose(unsigned launches) {
    double lost = 0;
    for (unsigned i = 0; i < launches; ++i) {
      const unsigned restraint = control_.restraint();
      control_.used(now_);
      split_ = program_.launch(restraint) > 1;
      lost += program_.loss();
      pass(program_.duration());
    }
    return lost / launches;
  }

 private:
  static constexpr Nanoseconds kSample = 500ms;

  void pass(Nanoseconds length) {
    const Nanoseconds end = now_ + length;
    while (std::min(next_sample_, control_.next_update()) <= end) {
      now_ = std::max(now_, std::min(next_sample_, control_.next_update()));
      if (now_ >= next_sample_) sample();
      control_.update(now_ >= kBegin + answer_ ? std::optional(smoothed_) : std::nullopt, now_);
    }
    now_ = end;
  }

  void sample() {
    smoothed_ += (1 - std::exp(-0.5)) * ((split_ ? split_pressure_ : pressure_) - smoothed_);
    next_sample_ += kSample;
  }

  static constexpr Nanoseconds kBegin = 100s;
  Program program_;
  RestraintControl control_{kPressure.share, 0};
  const double pressure_;
  const double split_pressure_;
  const Nanoseconds answer_;
  Nanoseconds now_ = kBegin;
  Nanoseconds next_sample_ = kBegin;
  double smoothed_ = 0;
  bool split_ = false;
};

// Compared with the best fixed number, which is 2 here: any splitting gives the neighbours everything.
TEST(PressurePolicy, FirstRunCostsLittleMoreThanTheBestFixedNumber) {
  const Loss curves[] = {
      [](std::size_t slices) { return slices < 2 ? 0 : 0.002 + 0.0005 * static_cast<double>(slices); },
      [](std::size_t slices) {
        return slices < 2 ? 0 : 0.002 + 0.0002 * std::pow(static_cast<double>(slices), 1.5);
      },
      [](std::size_t slices) {
        return slices < 2 ? 0 : slices < 12 ? 0.004 : 0.004 * static_cast<double>(slices);
      },
      [](std::size_t slices) { return slices < 2 ? 0 : 0.007; },
  };
  for (const Loss& loss : curves) {
    for (const Nanoseconds unsplit : {2ms, 41ms, 200ms, 1000ms}) {
      for (const Nanoseconds answer : {0ms, 400ms}) {
        for (const double pressure : {0.04, 0.2, 0.9}) {
          FirstRun run(loss, unsplit, pressure, answer);
          const double lost = run.lose(60);
          EXPECT_LE(lost, loss(2) + 0.003) << unsplit.count() << ' ' << answer.count() << ' ' << pressure;
          EXPECT_LE(lost, 0.01) << unsplit.count() << ' ' << answer.count() << ' ' << pressure;
        }
      }
    }
  }
}

// Neighbours that want more processors than there are, whatever the job does: it must not pay for that.
TEST(PressurePolicy, FirstRunCostsLittleWhereNothingHelpsTheNeighbours) {
  const Loss loss = [](std::size_t slices) {
    return slices < 2 ? 0 : 0.002 + 0.0005 * static_cast<double>(slices);
  };
  for (const double pressure : {0.1, 0.5, 0.9}) {
    FirstRun short_run(loss, 41ms, pressure, 400ms, pressure);
    EXPECT_LE(short_run.lose(120), 0.008) << pressure;
    FirstRun long_run(loss, 41ms, pressure, 400ms, pressure);
    EXPECT_LE(long_run.lose(480), 0.004) << pressure;
    EXPECT_LE(long_run.lose(20'000), 0.0015) << pressure;
  }
}

}  // namespace
}  // namespace cleave::interpose
