#include "learn/cost.h"

#include <algorithm>
#include <cmath>

namespace cleave::learn {
namespace {

// The first number that is tried, and the largest step from what is known to what is tried next.
constexpr std::size_t kFirstTry = 16;
constexpr std::size_t kStep = 8;
// A cost below this share of the whole is not told from noise.
constexpr double kVisible = 0.01;
// The number of slices aims below the budget by that much, since the line is only known so well.
constexpr double kMargin = 0.8;
// A launch that differs from the line by more is strange; so many of them in a row mean that the work has
// changed.
constexpr double kStrange = 0.3;
constexpr unsigned kStrangeLaunches = 3;
constexpr std::uint64_t kLeastMemory = 24;  // launches between two times of forgetting
// A whole launch once in a while, or nobody would know any more what is being lost.
constexpr std::uint64_t kRefresh = 64;

}  // namespace

void Cost::Point::add(double time) {
  times[next] = time;
  next = (next + 1) % kKept;
  count = std::min(count + 1, kKept);
}

double Cost::Point::typical() const {
  std::array<double, kKept> sorted = times;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

// The point of that number; if there is none, in place of the one that was not used for longest. Those that
// give the line its ends, whole and largest, stay.
Cost::Point& Cost::point_for(std::size_t slices) {
  Point* oldest = nullptr;
  const std::size_t largest = tried();
  for (Point& point : points_) {
    if (point.slices == slices) return point;
    if (point.slices != 0 && (point.slices == 1 || point.slices == largest)) continue;
    if (oldest == nullptr || point.last < oldest->last) oldest = &point;
  }
  *oldest = Point{};
  oldest->slices = slices;
  return *oldest;
}

const Cost::Point* Cost::find(std::size_t slices) const {
  const auto found = std::find_if(points_.begin(), points_.end(),
                                  [&](const Point& point) { return point.slices == slices; });
  return found != points_.end() ? &*found : nullptr;
}

std::size_t Cost::tried() const {
  std::size_t most = 0;
  for (const Point& point : points_) most = std::max(most, point.slices);
  return most;
}

bool Cost::strange(std::size_t slices, double time) const {
  const Point* const known = find(slices);
  if (known == nullptr || known->count < 2) return false;
  return std::abs(time / known->typical() - 1) > kStrange;
}

void Cost::observe(std::size_t slices, base::Nanoseconds time) {
  if (slices == 0 || time.count() <= 0) return;
  const auto measured = static_cast<double>(time.count());
  ++launches_;
  strange_ = strange(slices, measured) ? strange_ + 1 : 0;
  if (strange_ >= kStrangeLaunches && launches_ - forgotten_ >= kLeastMemory) {
    points_ = {};
    strange_ = 0;
    forgotten_ = launches_;
  }
  Point& point = point_for(slices);
  point.add(measured);
  point.last = launches_;
}

// Least squares, of errors relative to the time itself: a measured time is as uncertain as it is long.
std::optional<Line> Cost::line() const {
  double weights = 0;
  double x = 0;
  double y = 0;
  for (const Point& point : points_) {
    if (point.slices == 0) continue;
    const double time = point.typical();
    const double weight = static_cast<double>(point.count) / (time * time);
    weights += weight;
    x += weight * static_cast<double>(point.slices - 1);
    y += weight * time;
  }
  if (weights == 0) return std::nullopt;
  x /= weights;
  y /= weights;
  double xx = 0;
  double xy = 0;
  for (const Point& point : points_) {
    if (point.slices == 0) continue;
    const double time = point.typical();
    const double weight = static_cast<double>(point.count) / (time * time);
    const double dx = static_cast<double>(point.slices - 1) - x;
    xx += weight * dx * dx;
    xy += weight * dx * (time - y);
  }
  const double slope = xx > 0 ? std::max(xy / xx, 0.0) : 0.0;
  const double whole = y - slope * x;
  // Where times fall faster than they possibly could, only their mean is worth something.
  return whole > 0 ? Line{whole, slope} : Line{y, 0};
}

// The number for which the line leaves the budget; the one in use if it is about as good, so that launches
// do not differ for nothing.
std::size_t Cost::settled(const Line& line, double budget, std::size_t limit) const {
  const double room = kMargin * budget * line.whole;
  const double most = line.extra > 0 ? 1 + room / line.extra : static_cast<double>(limit);
  const auto slices = static_cast<std::size_t>(std::min(most, static_cast<double>(limit)));
  const Point* latest = &points_.front();
  for (const Point& point : points_) {
    if (point.slices > 1 && point.last > latest->last) latest = &point;
  }
  const std::size_t used = latest->slices;
  const bool close = used > 1 && used <= limit && used * 10 >= slices * 8 && used * 10 <= slices * 11;
  return close ? used : std::max<std::size_t>(slices, 1);
}

std::size_t Cost::within_budget(double budget, std::size_t limit) const {
  const Point* const whole = find(1);
  const std::size_t most = tried();
  if (whole == nullptr) return 1;
  if (most == 1) return std::min(kFirstTry, limit);
  if (whole->count < 2 || launches_ - whole->last >= kRefresh) return 1;
  const Line known = *line();
  const std::size_t reachable = std::min(limit, most * kStep);
  if (known.loss(most) < kVisible) return reachable;
  return settled(known, budget, reachable);
}

std::size_t Cost::within_quantum(base::Nanoseconds longest, std::size_t guess, std::size_t limit) const {
  const auto known = line();
  if (!known) return std::clamp<std::size_t>(guess, 1, limit);
  const double slices = std::ceil(known->whole / static_cast<double>(longest.count()));
  return slices >= static_cast<double>(limit) ? limit : std::max<std::size_t>(static_cast<std::size_t>(slices), 1);
}

Cost Cost::from(const Line& line, std::size_t tried) {
  Cost cost;
  for (const std::size_t slices : {std::size_t{1}, tried}) {
    for (std::size_t i = 0; i < 2; ++i)
      cost.observe(slices, base::Nanoseconds(static_cast<std::int64_t>(line.time(slices))));
  }
  return cost;
}

}  // namespace cleave::learn
