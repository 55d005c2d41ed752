// Estimates what splitting costs for the launches of one kernel in one size on one device, from measured launches,
// and chooses the number of slices from that.
//
// The loss of n slices is the share by which a launch in n slices takes longer than unsplit. Known without measuring:
// the loss does not fall with n, and from two slices on it grows faster and faster (the first slices cost little or
// nothing, since the device is kept busy; slices that are too short to fill it cost much). So between two measured
// numbers the loss lies below the straight line between them, and a number on that line is safe to try.
//
// Measured times are noisy, and noise only ever adds. So the smallest times count, reduced by the amount by which the
// smallest of so few is expected to exceed the true time. A few outliers do no harm, and the spread of the times says
// how certain the loss is.
//
// Not thread-safe. Nothing here calls OpenCL, reads a clock or allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace cleave::learn {

// What is known of one number of slices.
struct KnownLoss {
  std::size_t slices = 0;
  double loss = 0;  // >= 0; 0.05 is five per cent
};

// What to do with the next launch.
struct Choice {
  std::size_t slices = 1;  // 1: unsplit
  bool trial = false;      // an experiment, not the best known number
  double loss = 0;         // expected
};

// Which numbers of slices may be used although their loss is not known.
enum class Search : std::uint8_t {
  none,  // only what is known
  climb,  // up to twice the largest number that is known to stay within the budget: no experiments, since each number
          // is computed when it is needed
  trials,  // also those that may cost much more, so that the largest number is found in a few launches
};

class CostModel {
 public:
  static constexpr std::size_t kMaxKnown = 6;
  using Losses = std::array<KnownLoss, kMaxKnown>;

  // A launch in `slices` >= 1 took `time`. Times <= 0 are ignored.
  void observe(std::size_t slices, base::Nanoseconds time);

  // The most slices, up to `limit` >= 1, whose loss stays within `budget` > 0. With a search the answer is a trial at
  // first, and occasionally later: with Search::climb only an unsplit launch, and a number again that seemed to cost
  // too much. Empty if nothing is known.
  [[nodiscard]] std::optional<Choice> within_budget(double budget, std::size_t limit, Search search) const;

  // How long a launch takes, erring on the long side; 0 before the first. Adapts to changes of the work within a
  // few launches.
  [[nodiscard]] base::Nanoseconds duration() const;

  // Launches observed so far.
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

  // What is known, for another process to start from. Entries without slices are unused; the others ascend from 2
  // slices on, and their losses do not fall.
  [[nodiscard]] Losses losses() const;
  // Starts from that and a duration > 0. Invalid input is ignored as a whole.
  static CostModel from(const Losses& losses, base::Nanoseconds duration);

 private:
  static constexpr std::size_t kKept = 6;
  static constexpr std::size_t kPoints = 10;
  static constexpr std::size_t kRecent = 5;

  // The latest times of launches in one number of slices.
  struct Point {
    std::size_t slices = 0;  // 0: unused
    std::uint64_t last = 0;  // when it was last observed, in launches
    std::size_t count = 0;   // of times, up to kKept
    std::size_t next = 0;
    std::array<double, kKept> times{};
    std::optional<double> inherited_loss;  // found by another process

    void add(double time);
    [[nodiscard]] std::array<double, kKept> sorted() const;
    // The time without noise, where `noise` is its mean share of the time; and the standard error, as a share.
    // Require: count > 0.
    [[nodiscard]] double noise_free_time(double noise) const;
    [[nodiscard]] double error(double noise) const { return noise / static_cast<double>(count); }
  };

  // An estimated loss and its standard error.
  struct Estimate {
    std::size_t slices = 1;
    double loss = 0;
    double error = 0;
    std::size_t count = 0;  // times that it is based on

    [[nodiscard]] double upper_bound() const;  // probably not exceeded
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
  [[nodiscard]] bool trying(Search search) const;
  [[nodiscard]] bool is_suspect(const Point& whole) const;
  [[nodiscard]] bool is_unsplit_due(Search search) const;
  [[nodiscard]] bool is_retry_due(const Estimate& below, const Estimate& above, double safe, double budget,
                                  Search search) const;
  [[nodiscard]] bool is_within(const Curve& curve, std::size_t index, double budget, Search search) const;
  [[nodiscard]] double most_above(const Estimate& below, double budget, Search search) const;
  [[nodiscard]] Choice choose(const Curve& curve, double budget, std::size_t limit, Search search) const;

  std::array<Point, kPoints> points_{};
  std::array<double, kRecent> recent_{};  // the latest times for any number of slices; 0: unused
  std::uint64_t launches_ = 0;
  std::uint64_t since_ = 0;  // launches when everything was last discarded
  std::size_t used_ = 0;     // slices of the last split launch
  unsigned outliers_ = 0;    // launches in a row that contradicted what was known
  bool inherited_ = false;   // started from another process's losses
};

}  // namespace cleave::learn
