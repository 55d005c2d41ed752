#include "bench/pipelined/row.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/pipelined/side.h"

namespace pipelined {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The number behind `key` in JSON that we wrote ourselves; the first one is the sum over all kernels.
long number_of(const std::string& json, const std::string& key) {
  const auto at = json.find('"' + key + "\":");
  return at == std::string::npos ? -1 : std::atol(json.c_str() + at + key.size() + 3);
}

// The ratio of the medians; the two take turns, so that both see the same clock rates.
double compare(Side& native, Side& cleave, int repeats, bool with_event, double& whole) {
  std::vector<double> times;
  std::vector<double> split;
  for (int i = 0; i < repeats; ++i) {
    times.push_back(native.run(false));
    split.push_back(cleave.run(with_event));
  }
  whole = median(times);
  return median(split) / whole;
}

// The longest wait of a small kernel on another queue during some launches.
double longest_wait(Side& side) {
  constexpr int kLaunches = 8;
  std::atomic<bool> done{false};
  double longest = 0;
  std::jthread neighbour([&] {
    while (!done) {
      longest = std::max(longest, side.run_small());
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (int i = 0; i < kLaunches; ++i) side.run(false);
  done = true;
  neighbour.join();
  return longest;
}

}  // namespace

int measure_row(const Request& request) {
  const Work& work = kWorks.at(request.work);
  Side native(request.loader, request.platform, work, request.small);
  Side cleave(request.library, request.platform, work, request.small);
  for (Side* side : {&native, &cleave}) {
    side->run(false);
    side->run_small();
  }
  double whole = 0;
  const double ratio = compare(native, cleave, request.repeats, false, whole);
  const std::string statistics = cleave.statistics();
  const double with_event = compare(native, cleave, request.repeats, true, whole);
  const double wait = longest_wait(cleave);
  const double native_wait = longest_wait(native);
  const bool identical = native.sample() == cleave.sample();
  const long split = std::max(1L, number_of(statistics, "split"));
  std::printf("%.4f %.4f %.3f %.2f %.2f %ld %ld %s %s\n", ratio, with_event, whole, wait, native_wait,
              number_of(statistics, "slices") / split, number_of(statistics, "pipelined"),
              identical ? "yes" : "no", cleave.device_text().c_str());
  return identical ? 0 : 1;
}

}  // namespace pipelined
