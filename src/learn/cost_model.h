// What splitting the launches of one kernel costs, in one size on one device, learnt from launches that
// happened, and the number of slices that follows from it.
//
// The loss of n slices is the share by which a launch in n slices takes longer than in one. What is known of
// it without measuring: it does not fall with n, and from two slices on it grows faster and faster (the first
// slices cost little or nothing, since the device is kept busy; those that are too short to fill it cost
// much). So between two numbers that were measured it lies below the straight line between them, and a number
// on that line is safe to try.
//
// Measured times are noisy, and noise only ever adds: so it is the smallest times that count, put right by
// what the smallest of so few is expected to be above the real one. A few wild times in one number's do no
// harm, and how far times lie apart says how sure the loss is.
//
// Not thread-safe. Nothing here calls OpenCL, reads a clock or allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace cleave::learn {

// What was learnt of one number of slices.
struct KnownLoss {
  std::size_t slices = 0;
  double loss = 0;  // >= 0; 0.05 is five per cent
};

// What to do with the next launch.
struct Choice {
  std::size_t slices = 1;  // 1: whole
  bool trial = false;      // to find something out, and not since it is the best that is known
  double loss = 0;         // that is expected of it
};

class CostModel {
 public:
  static constexpr std::size_t kMaxKnown = 6;
  using Losses = std::array<KnownLoss, kMaxKnown>;

  // A launch in `slices` >= 1 took `time`. Times of 0 and less are ignored.
  void observe(std::size_t slices, base::Nanoseconds time);

  // The most slices, up to `limit` >= 1, whose loss stays within `budget` > 0. While that is being found out,
  // and now and then later, the answer is a trial, if `may_try`. Empty if nothing is known.
  [[nodiscard]] std::optional<Choice> within_budget(double budget, std::size_t limit, bool may_try) const;

  // How long a launch takes, rather too long than too short; 0 before the first. Within a few launches it
  // follows changes of the work.
  [[nodiscard]] base::Nanoseconds duration() const;

  // Launches observed so far.
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

  // For another process to go on from: what is known. Entries without slices are unused; the others ascend
  // from 2 slices on, and their losses do not fall.
  [[nodiscard]] Losses losses() const;
  // Goes on from that, and from a duration > 0. What is not in order is ignored altogether.
  static CostModel from(const Losses& losses, base::Nanoseconds duration);

 private:
  static constexpr std::size_t kKept = 6;
  static constexpr std::size_t kPoints = 10;
  static constexpr std::size_t kRecent = 5;

  // The last times of launches in so many slices.
  struct Point {
    std::size_t slices = 0;  // 0: unused
    std::uint64_t last = 0;  // when it was last observed, in launches
    std::size_t count = 0;   // of times, up to kKept
    std::size_t next = 0;
    std::array<double, kKept> times{};
    std::optional<double> inherited_loss;  // the loss that another process found

    void add(double time);
    [[nodiscard]] std::array<double, kKept> sorted() const;
    // The time without noise, of which there is `noise` on average, as a share; and how sure that is, as a
    // share. Require: count > 0.
    [[nodiscard]] double noise_free_time(double noise) const;
    [[nodiscard]] double error(double noise) const { return noise / static_cast<double>(count); }
  };

  // A loss as estimated, and its standard error.
  struct Estimate {
    std::size_t slices = 1;
    double loss = 0;
    double error = 0;
    std::size_t count = 0;  // times that it rests on

    [[nodiscard]] double upper_bound() const;  // it is probably not more than that
  };
  // Estimates in ascending order of slices, whose losses do not fall.
  struct Curve {
    std::array<Estimate, kPoints> points{};
    std::size_t count = 0;

    void add(const Estimate& estimate);
    void make_monotonic();
  };

  Point& point_for(std::size_t slices);
  [[nodiscard]] const Point* find(std::size_t slices) const;
  [[nodiscard]] bool is_outlier(std::size_t slices, double time) const;
  [[nodiscard]] std::uint64_t age() const { return launches_ - since_; }
  [[nodiscard]] double noise() const;
  [[nodiscard]] Curve curve() const;
  [[nodiscard]] bool trying() const;
  [[nodiscard]] bool is_unsplit_due() const;
  [[nodiscard]] bool is_retry_due(const Estimate& below, const Estimate& above, double safe,
                                  double budget) const;
  [[nodiscard]] bool is_within(const Curve& curve, std::size_t index, double budget) const;
  [[nodiscard]] Choice choose(const Curve& curve, double budget, std::size_t limit, bool may_try) const;

  std::array<Point, kPoints> points_{};
  std::array<double, kRecent> recent_{};  // the last times, whatever the number of slices; 0: unused
  std::uint64_t launches_ = 0;
  std::uint64_t since_ = 0;  // launches when all was last forgotten
  std::size_t used_ = 0;     // slices of the last split launch
  unsigned outliers_ = 0;    // launches in a row that were far from what was known
  bool inherited_ = false;   // what is known began with what another process found
};

}  // namespace cleave::learn
