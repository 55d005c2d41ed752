#include "observe/clock_alignment.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace cleave::observe {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// Of the estimate's lines: how far the bounds reach that they go by, to either side, and how far they are apart.
constexpr std::int64_t kReach = 5'000 * kMillisecond;
constexpr std::int64_t kStep = 2'500 * kMillisecond;
// 100 ns for 10 ppm.
constexpr double kNeededRoom = 1e7;

// Rounded up, so that an interval is never too narrow.
std::int64_t drift_over(std::int64_t duration) {
  const std::int64_t size = std::abs(duration);
  return size / kMillisecond * ClockAlignment::kMaxDrift +
         (size % kMillisecond * ClockAlignment::kMaxDrift + kMillisecond - 1) / kMillisecond;
}

}  // namespace

std::optional<ClockAlignment> ClockAlignment::of_client(const std::vector<ClockExchange>& exchanges) {
  std::vector<Bounds> bounds;
  for (const ClockExchange& each : exchanges) {
    if (each.received < each.sent) continue;
    bounds.push_back({each.server, each.sent - each.server, each.received - each.server});
  }
  return of(std::move(bounds));
}

// The client's own time of the stamp is somewhere in the exchange.
std::optional<ClockAlignment> ClockAlignment::of_server(const std::vector<ClockExchange>& exchanges) {
  std::vector<Bounds> bounds;
  for (const ClockExchange& each : exchanges) {
    if (each.received < each.sent) continue;
    const std::int64_t drift = drift_over(each.received - each.sent);
    bounds.push_back({each.sent + (each.received - each.sent) / 2, each.server - each.received - drift,
                      each.server - each.sent + drift});
  }
  return of(std::move(bounds));
}

std::optional<ClockAlignment> ClockAlignment::of(std::vector<Bounds> bounds) {
  if (bounds.empty()) return std::nullopt;
  std::sort(bounds.begin(), bounds.end(), [](const Bounds& a, const Bounds& b) { return a.time < b.time; });
  const auto narrow = [](Bounds& one, const Bounds& other) {
    const std::int64_t drift = drift_over(one.time - other.time);
    one.least = std::max(one.least, other.least - drift);
    one.most = std::min(one.most, other.most + drift);
  };
  for (std::size_t i = 1; i < bounds.size(); ++i) narrow(bounds[i], bounds[i - 1]);
  for (std::size_t i = bounds.size() - 1; i > 0; --i) narrow(bounds[i - 1], bounds[i]);
  const bool fits =
      std::all_of(bounds.begin(), bounds.end(), [](const Bounds& each) { return each.least <= each.most; });
  if (!fits) return std::nullopt;
  ClockAlignment made;
  made.bounds_ = std::move(bounds);
  made.add_lines();
  return made;
}

void ClockAlignment::add_lines() {
  const std::int64_t first = bounds_.front().time;
  const std::int64_t last = bounds_.back().time;
  const std::int64_t steps = std::max<std::int64_t>((last - first) / kStep, 1);
  auto from = bounds_.cbegin();
  for (std::int64_t i = 0; i <= steps; ++i) {
    const std::int64_t time = i == steps ? last : first + i * kStep;
    while (from->time < time - kReach) ++from;
    const auto to =
        std::find_if(from, bounds_.cend(), [&](const Bounds& each) { return each.time > time + kReach; });
    if (from == to) return lines_.clear();
    // The room between the bounds, for a line of this rate, and its place in the middle. The room is concave. A steeper line has
    // to gain some: a few exchanges within a short time do not show the drift.
    const std::int64_t origin = from->least;
    double middle = 0;
    const auto room = [&](double rate) {
      double least = -1e18;
      double most = 1e18;
      for (auto each = from; each != to; ++each) {
        const double drift = rate * static_cast<double>(each->time - time);
        least = std::max(least, static_cast<double>(each->least - origin) - drift);
        most = std::min(most, static_cast<double>(each->most - origin) - drift);
      }
      middle = (least + most) / 2;
      return most - least - std::abs(rate) * kNeededRoom;
    };
    double low = -static_cast<double>(kMaxDrift) / kMillisecond;
    double high = -low;
    for (int round = 0; round < 40; ++round) {
      const double third = (high - low) / 3;
      if (room(low + third) < room(high - third)) {
        low += third;
      } else {
        high -= third;
      }
    }
    const double rate = (low + high) / 2;
    if (room(rate) + std::abs(rate) * kNeededRoom < 0) return lines_.clear();
    lines_.push_back({time, origin + static_cast<std::int64_t>(middle), rate});
  }
}

std::optional<std::int64_t> ClockAlignment::on_lines(std::int64_t time) const {
  if (lines_.empty()) return std::nullopt;
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), time,
                                      [](std::int64_t at, const Line& each) { return at < each.time; });
  if (after == lines_.begin() || after == lines_.end()) {
    const Line& end = after == lines_.begin() ? lines_.front() : lines_.back();
    return end.ahead + static_cast<std::int64_t>(end.rate * static_cast<double>(time - end.time));
  }
  const Line& before = *(after - 1);
  const double part =
      static_cast<double>(time - before.time) / static_cast<double>(after->time - before.time);
  return before.ahead + static_cast<std::int64_t>(part * static_cast<double>(after->ahead - before.ahead));
}

// Those beyond the two neighbours have narrowed these.
ClockAlignment::Estimate ClockAlignment::at(std::int64_t time) const {
  const auto after = std::lower_bound(bounds_.begin(), bounds_.end(), time,
                                      [](const Bounds& each, std::int64_t at) { return each.time < at; });
  std::int64_t least = INT64_MIN;
  std::int64_t most = INT64_MAX;
  const auto add = [&](const Bounds& each) {
    const std::int64_t drift = drift_over(time - each.time);
    least = std::max(least, each.least - drift);
    most = std::min(most, each.most + drift);
  };
  if (after != bounds_.end()) add(*after);
  if (after != bounds_.begin()) add(*(after - 1));
  const std::int64_t ahead = std::clamp(on_lines(time).value_or(least + (most - least) / 2), least, most);
  return {ahead, std::max(ahead - least, most - ahead)};
}

// Bounds and estimate consist of straight pieces, so it is largest where one ends: at an exchange, where the bound that one leaves
// meets that of the next, or where a line ends.
std::int64_t ClockAlignment::worst_error(std::int64_t begin, std::int64_t end) const {
  std::int64_t worst = std::max(at(begin).error, at(end).error);
  for (const Line& line : lines_) {
    if (line.time >= begin && line.time <= end) worst = std::max(worst, at(line.time).error);
  }
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    const Bounds& here = bounds_[i];
    if (here.time >= begin && here.time <= end) worst = std::max(worst, at(here.time).error);
    if (i == 0) continue;
    const Bounds& before = bounds_[i - 1];
    const std::int64_t middle = before.time + (here.time - before.time) / 2;
    for (const std::int64_t gap : {here.least - before.least, before.most - here.most}) {
      const std::int64_t cross =
          std::clamp(middle - gap / 2 * (kMillisecond / kMaxDrift), before.time, here.time);
      if (cross >= begin && cross <= end) worst = std::max(worst, at(cross).error);
    }
  }
  return worst + 4;  // for rounding
}

}  // namespace cleave::observe
