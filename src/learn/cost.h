// What the launches of one kernel cost, in one size on one device, as a function of the number of slices:
//
//   time(n) = whole + (n - 1) × extra
//
// learnt from launches that happened, and the number of slices that follows from it. The first launches are
// spread over several numbers of slices, since a slope needs two points: whole, a few, whole again (what a
// first launch warms up does not count), then more and more until their cost shows.
//
// Not thread-safe. Nothing here calls OpenCL, reads a clock or allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace cleave::learn {

// The line through what was measured, in nanoseconds.
struct Line {
  double whole = 0;  // of the launch in one piece, > 0
  double extra = 0;  // of every slice beyond the first, >= 0

  [[nodiscard]] double time(std::size_t slices) const {
    return whole + extra * static_cast<double>(slices - 1);
  }
  // The share by which `slices` take longer than one: 0.05 is five per cent.
  [[nodiscard]] double loss(std::size_t slices) const { return time(slices) / whole - 1; }
};

class Cost {
 public:
  // A launch in `slices` >= 1 took `time`. Times of 0 and less are ignored.
  void observe(std::size_t slices, base::Nanoseconds time);

  // The most slices, up to `limit` >= 1, whose loss stays within `budget` > 0; while that is being found out,
  // the number to try next.
  [[nodiscard]] std::size_t within_budget(double budget, std::size_t limit) const;

  // How many slices, up to `limit` >= 1, bring each down to `longest` > 0 or less; `guess` before anything is
  // known.
  [[nodiscard]] std::size_t within_quantum(base::Nanoseconds longest, std::size_t guess,
                                           std::size_t limit) const;

  // What is known so far. Empty before the first launch; `extra` is 0 until two numbers of slices are known.
  [[nodiscard]] std::optional<Line> line() const;

  // To go on from what another process learnt: `tried` >= 2 slices were known to cost what the line says.
  static Cost from(const Line& line, std::size_t tried);

  // The largest number of slices of which something is known; 0 before the first launch.
  [[nodiscard]] std::size_t tried() const;

 private:
  static constexpr std::size_t kKept = 5;
  // The last times of launches in so many slices.
  struct Point {
    std::size_t slices = 0;  // 0: unused
    std::uint64_t last = 0;  // when it was last observed, in launches
    std::size_t count = 0;   // of times, up to kKept
    std::size_t next = 0;
    std::array<double, kKept> times{};

    void add(double time);
    [[nodiscard]] double typical() const;  // the lower median: noise only ever adds
  };

  Point& point_for(std::size_t slices);
  [[nodiscard]] const Point* find(std::size_t slices) const;
  [[nodiscard]] bool strange(std::size_t slices, double time) const;
  [[nodiscard]] std::size_t settled(const Line& line, double budget, std::size_t limit) const;

  std::array<Point, 8> points_{};
  std::uint64_t launches_ = 0;
  unsigned strange_ = 0;          // launches in a row that were far from the line
  std::uint64_t forgotten_ = 0;  // when everything was last forgotten
};

}  // namespace cleave::learn
