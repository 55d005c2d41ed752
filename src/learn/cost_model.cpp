#include "learn/cost_model.h"

#include <algorithm>
#include <cmath>

namespace cleave::learn {
namespace {

// The first number that is tried, and the largest step from a known number to the next trial.
constexpr std::size_t kFirstTry = 16;
constexpr double kMaxStep = 8;
// The same without trials, and how often a number must have been measured before the next is used.
constexpr double kMaxClimb = 2;
constexpr std::size_t kTimesToClimb = 2;
// The number of launches in which numbers are tried; later only safe numbers are.
constexpr std::uint64_t kTrialLaunches = 9;
// The target, as a share of the budget, and by how many standard errors it must be met.
constexpr double kAim = 0.9;
constexpr double kStandardErrors = 0.7;
// Noise that is assumed before any is observed, and its bounds, as shares of the time.
constexpr double kDefaultNoise = 0.004;
constexpr double kMinNoise = 0.0005;
constexpr double kMaxNoise = 0.2;
// The standard error of a loss that another process found.
constexpr double kInheritedError = 0.005;
// A launch that differs by more from what is known is an outlier; this many in a row mean that the work has changed.
constexpr double kOutlier = 0.3;
constexpr double kOutlierNoise = 4;  // the same, in multiples of the usual noise
constexpr unsigned kOutliersToForget = 3;
constexpr std::uint64_t kMinLaunchesBetweenResets = 12;
// A launch is left unsplit now and then, so that the loss remains known: at these ages, then every kRefresh launches.
constexpr std::array<std::uint64_t, 5> kUnsplitAt = {6, 8, 13, 21, 33};
constexpr std::uint64_t kRefresh = 48;
// Without trials only the latter, and where slices appear to be faster by more than this: then the unsplit time was
// an outlier, unless it has been measured so often. Then it is measured more seldom, since somebody may wait for it.
constexpr double kSuspectGain = 0.01;
constexpr std::size_t kTimesToBelieve = 3;
constexpr std::uint64_t kSeldomRefresh = 200;
// Numbers that seemed too many are retried from this age on.
constexpr std::uint64_t kRetriesFrom = 12;
constexpr std::uint64_t kLongestPause = 200;
constexpr std::uint64_t kMatureAge = 64;
// Numbers of slices are spaced by about a fifth, and a number in use is kept if it is about as good, so that launches
// do not vary without need.
constexpr double kGrid = 1.2;
constexpr double kKeepFactor = 1.3;
// Limits for another process's losses and durations.
constexpr std::size_t kMaxSlices = 1'000'000;
constexpr double kMaxLoss = 1000;

// The largest number of the grid up to `slices`.
std::size_t on_grid(double slices) {
  if (slices < 2) return 1;
  std::size_t best = 2;
  for (std::size_t number = 2; static_cast<double>(number) <= slices + 0.01;) {
    best = number;
    number = std::max(number + 1, static_cast<std::size_t>(static_cast<double>(number) * kGrid));
  }
  return best;
}

}  // namespace

void CostModel::Point::add(double time) {
  times[next] = time;
  next = (next + 1) % kKept;
  count = std::min(count + 1, kKept);
}

std::array<double, CostModel::kKept> CostModel::Point::sorted() const {
  std::array<double, kKept> sorted = times;
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t j = i; j > 0 && sorted[j] < sorted[j - 1]; --j) std::swap(sorted[j], sorted[j - 1]);
  }
  return sorted;
}

// Of many times, the second smallest: a single one may be too small because of a measuring error. Noise is assumed to
// be exponential, so that the smallest of k times is expected to exceed the noise-free time by a k-th of it.
double CostModel::Point::noise_free_time(double noise) const {
  const auto times_up = sorted();
  const auto k = static_cast<double>(count);
  return count < 5 ? times_up[0] * (1 - noise / k) : times_up[1] * (1 - noise / k - noise / (k - 1));
}

double CostModel::Estimate::upper_bound() const { return loss + kStandardErrors * error; }

// The point of that number; if there is none, the least recently used one is replaced. Unsplit launches keep theirs.
CostModel::Point& CostModel::point_for(std::size_t slices) {
  Point* oldest = points_[0].slices != 1 ? points_.data() : &points_[1];
  for (Point& point : points_) {
    if (point.slices == slices) return point;
    if (point.slices != 1 && point.last < oldest->last) oldest = &point;
  }
  *oldest = Point{};
  oldest->slices = slices;
  return *oldest;
}

const CostModel::Point* CostModel::find(std::size_t slices) const {
  const auto found = std::find_if(points_.begin(), points_.end(),
                                  [&](const Point& point) { return point.slices == slices; });
  return found != points_.end() && found->count > 0 ? &*found : nullptr;
}

bool CostModel::is_outlier(std::size_t slices, double time) const {
  const Point* const known = find(slices);
  if (known == nullptr || known->count < 2) return false;
  return std::abs(time / known->noise_free_time(0) - 1) > std::max(kOutlier, kOutlierNoise * noise());
}

void CostModel::observe(std::size_t slices, base::Nanoseconds time) {
  if (slices == 0 || time.count() <= 0) return;
  const auto measured = static_cast<double>(time.count());
  recent_[launches_++ % kRecent] = measured;
  if (launches_ == 1 && slices == 1) return;  // the first launch includes warm-up
  outliers_ = is_outlier(slices, measured) ? outliers_ + 1 : 0;
  if (outliers_ != 0 && outliers_ < kOutliersToForget) return;  // an outlier, unless more follow
  if (outliers_ != 0 && age() >= kMinLaunchesBetweenResets) {
    points_ = {};
    since_ = launches_;
    inherited_ = false;
  }
  outliers_ = 0;
  Point& point = point_for(slices);
  point.add(measured);
  point.last = launches_;
  if (slices > 1) used_ = slices;
}

// The mean noise as a share of the time, from the gaps between neighbours among the sorted times of each number. For
// exponential noise all gaps are alike with these weights; their median is not affected by a few outliers.
double CostModel::noise() const {
  constexpr double kMiddle = 0.693;  // the median of exponential times, as a share of the mean
  std::array<double, kPoints * kKept> gaps{};
  std::size_t count = 0;
  for (const double expected : {kDefaultNoise, kDefaultNoise}) gaps[count++] = expected * kMiddle;
  for (const Point& point : points_) {
    const auto times = point.sorted();
    for (std::size_t i = 0; i + 1 < point.count; ++i)
      gaps[count++] = static_cast<double>(point.count - 1 - i) * (times[i + 1] - times[i]) / times[0];
  }
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(gaps.begin(), middle, gaps.begin() + static_cast<std::ptrdiff_t>(count));
  return std::clamp(*middle / kMiddle, kMinNoise, kMaxNoise);
}

void CostModel::Curve::add(const Estimate& estimate) {
  std::size_t at = count++;
  for (; at > 0 && points[at - 1].slices > estimate.slices; --at) points[at] = points[at - 1];
  points[at] = estimate;
}

// Neighbours that contradict each other are replaced by their mean, weighted by certainty.
void CostModel::Curve::make_monotonic() {
  for (std::size_t i = 1; i < count; ++i) {
    double weight = 1 / (points[i].error * points[i].error);
    double sum = weight * points[i].loss;
    for (std::size_t from = i; from-- > 0 && points[from].loss > points[i].loss;) {
      const double more = 1 / (points[from].error * points[from].error);
      weight += more;
      sum += more * points[from].loss;
      for (std::size_t j = from; j <= i; ++j) points[j].loss = sum / weight;
    }
  }
  for (Estimate& point : points) point.loss = std::max(point.loss, 0.0);
}

CostModel::Curve CostModel::curve() const {
  Curve curve;
  const double noise = this->noise();
  const Point* const whole = find(1);
  for (const Point& point : points_) {
    if (point.slices < 2) continue;
    if (whole != nullptr && point.count > 0) {
      const double loss = point.noise_free_time(noise) / whole->noise_free_time(noise) - 1;
      curve.add({point.slices, loss, std::hypot(point.error(noise), whole->error(noise)), point.count});
    } else if (point.inherited_loss) {
      curve.add({point.slices, *point.inherited_loss, kInheritedError, 1});
    }
  }
  curve.make_monotonic();
  return curve;
}

bool CostModel::trying(Search search) const {
  return search != Search::climb && !inherited_ && age() < kTrialLaunches;
}

// Whether that unsplit time seems too long, which would make every number of slices look cheap.
bool CostModel::is_suspect(const Point& whole) const {
  if (whole.count >= kTimesToBelieve) return false;
  const double bound = (1 - kSuspectGain) * whole.noise_free_time(0);
  return std::any_of(points_.begin(), points_.end(), [&](const Point& point) {
    return point.slices > 1 && point.count > 0 && point.noise_free_time(0) < bound;
  });
}

bool CostModel::is_unsplit_due(Search search) const {
  const Point* const whole = find(1);
  if (whole == nullptr) return !inherited_ || age() == 2;
  if (search == Search::climb && is_suspect(*whole)) return true;
  if (search != Search::climb && std::find(kUnsplitAt.begin(), kUnsplitAt.end(), age()) != kUnsplitAt.end())
    return true;
  const bool is_certain = search == Search::climb && whole->count >= kTimesToBelieve;
  return launches_ - whole->last >= (is_certain ? kSeldomRefresh : kRefresh);
}

// Whether a number that seemed too many is to be retried, since that may have been an accident: during the trials, if
// a smaller number is so much better that the two are inconsistent; later occasionally, the more rarely the more it
// costs. Without trials numbers lie close together, and an accident would end the climb: none is taken for certain.
bool CostModel::is_retry_due(const Estimate& below, const Estimate& above, double safe, double budget,
                             Search search) const {
  const bool climbing = search == Search::climb;
  const bool certain = !climbing || above.count >= kTimesToBelieve;
  if (certain && safe * 1.5 > static_cast<double>(above.slices)) return false;
  if (trying(search)) {
    const double share = static_cast<double>(below.slices) / static_cast<double>(above.slices);
    return above.count == 1 && share > 0.2 && below.loss < 0.4 * above.loss * share;
  }
  if (age() < kRetriesFrom) return false;
  const double pause =
      (age() < kMatureAge && !climbing ? 4 : 16) * static_cast<double>(above.count) * above.loss / budget;
  const auto period = static_cast<std::uint64_t>(std::clamp<double>(pause, 4, kLongestPause));
  return age() % period == 3 % period;
}

// If noise hides the budget, numbers whose loss cannot be distinguished from zero are used all the same: up to the
// first trial number, or up to the one in use, for which measurements accumulate.
bool CostModel::is_within(const Curve& curve, std::size_t index, double budget, Search search) const {
  const Estimate& point = curve.points[index];
  if (point.upper_bound() <= budget) return true;
  const bool small = point.slices <= std::max(kFirstTry, used_);
  return !trying(search) && small && point.loss <= 0.5 * budget;
}

// How many slices may be used where nothing is known of more than `below`, which is within the budget. The loss grows at
// least as fast as the number, but for what being split at all costs.
double CostModel::most_above(const Estimate& below, double budget, Search search) const {
  const auto slices = static_cast<double>(below.slices);
  const double loss = std::max(below.upper_bound(), 1e-6);
  switch (search) {
    case Search::none:
      return slices;
    case Search::climb: {
      if (below.slices > 1 && below.count < kTimesToClimb) return slices;
      return slices * std::clamp(kAim * budget / loss, 1.0, kMaxClimb);
    }
    case Search::trials: {
      const double step = std::min(kMaxStep, 1.5 * budget / loss);
      return below.loss < 0.5 * budget || step > 1.4 ? slices * std::max(step, 1.0) : slices;
    }
  }
  return slices;
}

Choice CostModel::choose(const Curve& curve, double budget, std::size_t limit, Search search) const {
  Estimate below;  // the largest number within the budget: at least 1, unsplit
  std::size_t i = 0;
  for (; i < curve.count && is_within(curve, i, budget, search); ++i) below = curve.points[i];
  const Estimate* const above = i < curve.count ? &curve.points[i] : nullptr;
  const double aim = kAim * budget;
  const auto a = static_cast<double>(below.slices);
  double safe = most_above(below, budget, search);
  if (above != nullptr) {
    const auto b = static_cast<double>(above->slices);
    const double low = std::min(below.upper_bound(), aim);
    safe = a + (b - a) * (aim - low) / (above->upper_bound() - low);
    if (search == Search::climb) safe = std::min(safe, kMaxClimb * a);
    if (search != Search::none && above->slices <= limit && is_retry_due(below, *above, safe, budget, search))
      return {above->slices, true, above->loss};
    // A curve that is flat at first lies far below the straight line: most can be learned in the middle.
    if (search == Search::trials && trying(search) && below.slices > 1 && b > 2.5 * a &&
        below.upper_bound() < 0.6 * budget)
      safe = std::max(safe, std::sqrt(a * b));
  }
  const auto most = static_cast<double>(limit);
  const std::size_t slices = safe >= most ? limit : on_grid(safe);
  const bool as_good = !trying(search) && used_ == below.slices && used_ > 1 && used_ <= limit &&
                       static_cast<double>(slices) < kKeepFactor * static_cast<double>(used_);
  return {as_good ? used_ : slices, trying(search),
          slices == 1 ? 0 : std::min(std::max(below.loss, 0.0), budget)};
}

std::optional<Choice> CostModel::within_budget(double budget, std::size_t limit, Search search) const {
  if (limit < 2) return Choice{};
  if (search != Search::none && is_unsplit_due(search)) return Choice{1, true, 0};
  const Curve known = curve();
  if (known.count > 0) return choose(known, budget, limit, search);
  switch (search) {
    case Search::none:
      return std::nullopt;
    case Search::climb:
      return Choice{2, false, 0};
    case Search::trials:
      return Choice{std::min(kFirstTry, limit), true, 0};
  }
  return std::nullopt;
}

base::Nanoseconds CostModel::duration() const {
  std::array<double, kRecent> times = recent_;
  std::sort(times.begin(), times.end());
  // The second longest, so that one outlier does no harm; of few times, the longest.
  const double time = times[kRecent - 3] > 0 ? times[kRecent - 2] : times[kRecent - 1];
  return base::Nanoseconds(static_cast<std::int64_t>(time));
}

CostModel::Losses CostModel::losses() const {
  const Curve known = curve();
  Losses losses{};
  // Of too many, the smaller numbers: these are in use.
  for (std::size_t i = 0; i < std::min(known.count, kMaxKnown); ++i)
    losses[i] = {known.points[i].slices, known.points[i].loss};
  return losses;
}

CostModel CostModel::from(const Losses& losses, base::Nanoseconds duration) {
  CostModel cost;
  if (duration.count() <= 0) return cost;
  KnownLoss before{1, 0};
  std::size_t count = 0;
  for (const KnownLoss& known : losses) {
    if (known.slices == 0) break;
    const bool in_order = known.slices > before.slices && known.slices <= kMaxSlices &&
                          known.loss >= before.loss && known.loss <= kMaxLoss;
    if (!in_order) return {};
    cost.points_[count].slices = known.slices;
    cost.points_[count++].inherited_loss = known.loss;
    before = known;
  }
  cost.inherited_ = count > 0;
  cost.recent_.back() = static_cast<double>(duration.count());
  return cost;
}

}  // namespace cleave::learn
