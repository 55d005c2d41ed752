// Times and their medians, for benchmarks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace kit {

// Seconds, milliseconds or microseconds (std::milli, std::micro) since some moment in the past.
template <class Ratio = std::ratio<1>>
double now() {
  return std::chrono::duration<double, Ratio>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// How long `work` takes, in the same units.
template <class Ratio = std::ratio<1>, class Work>
double duration_of(const Work& work) {
  const double begin = now<Ratio>();
  work();
  return now<Ratio>() - begin;
}

// The upper one of two in the middle. Requires: there are values.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace kit
