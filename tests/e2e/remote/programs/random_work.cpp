// Two threads that do random work in one context, for so many seconds or until the device is lost:
//
//   random_work SECONDS SEED [PAUSE [RECOVER]]
//
// PAUSE: milliseconds between two steps. RECOVER: when the device is lost, and everything is released, it has to work
// again within so many seconds. Prints one line of JSON at its end; the status is 0 if every result was right and every
// error one that means that the device is lost.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "checked_work.h"

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Options {
  steady_clock::time_point until;
  unsigned seed;
  milliseconds pause;
  std::chrono::seconds recover;
};

// The result of all steps. Thread-safe.
class Outcome {
 public:
  void lose(const work::DeviceLost& lost) {
    const std::scoped_lock lock(mutex_);
    if (!lost_) lost_ = lost;
    over_ = true;
  }
  [[nodiscard]] bool is_over() const { return over_; }
  void count_step() { ++steps_; }

  void print(const std::string& recovered) const {
    const work::SlowestCall slowest_call = work::slowest_call();
    std::printf(
        "{\"error\": %d, \"call\": \"%s\", \"steps\": %u, \"longest_ms\": %.1f, \"longest_call\": \"%s\", "
        "\"recovered\": %s}\n",
        lost_ ? lost_->error : 0, lost_ ? lost_->call : "", steps_.load(), slowest_call.milliseconds,
        slowest_call.call, recovered.c_str());
  }

 private:
  std::mutex mutex_;
  std::optional<work::DeviceLost> lost_;
  std::atomic<bool> over_{false};
  std::atomic<unsigned> steps_{0};
};

void work_on(const work::Worker& worker, const Options& options, unsigned number, Outcome& outcome) {
  work::Random random(options.seed * 2 + number);
  try {
    while (!outcome.is_over() && steady_clock::now() < options.until) {
      work::random_step(worker, random);
      outcome.count_step();
      if (options.pause.count() != 0) std::this_thread::sleep_for(options.pause);
    }
  } catch (const work::DeviceLost& lost) {
    outcome.lose(lost);
  }
}

void work_together(cl_device_id device, const Options& options, Outcome& outcome) {
  try {
    const work::Worker first(device);
    const work::Worker second(device, first);
    std::thread other([&] { work_on(second, options, 1, outcome); });
    work_on(first, options, 0, outcome);
    other.join();
    if (outcome.is_over()) work::expect_all_lost(second);
  } catch (const work::DeviceLost& lost) {
    outcome.lose(lost);
  }
}

bool recovers(cl_device_id device, const Options& options) {
  const auto until = steady_clock::now() + options.recover;
  work::Random random(options.seed);
  while (steady_clock::now() < until) {
    try {
      work::add_and_check(work::Worker(device), random);
      return true;
    } catch (const work::DeviceLost&) {
      std::this_thread::sleep_for(milliseconds(50));
    }
  }
  return false;
}

}  // namespace

int main(int count, char** arguments) {
  const auto argument = [&](int i) { return i < count ? std::atoi(arguments[i]) : 0; };
  const Options options{steady_clock::now() + std::chrono::seconds(argument(1)),
                        static_cast<unsigned>(argument(2)), milliseconds(argument(3)),
                        std::chrono::seconds(argument(4))};
  Outcome outcome;
  cl_device_id const device = work::first_device();
  if (device == nullptr) {  // before the program knew of any
    outcome.lose({"clGetDeviceIDs", CL_DEVICE_NOT_FOUND});
    outcome.print("null");
    return 0;
  }
  work_together(device, options, outcome);
  const bool may_recover = outcome.is_over() && options.recover.count() != 0;
  const bool recovered = may_recover && recovers(device, options);
  outcome.print(!may_recover ? "null" : recovered ? "true" : "false");
  return may_recover && !recovered ? 1 : 0;
}
