// Two threads that do varied work in one context, for so many seconds or until the device is gone:
//
//   varied_work SECONDS SEED [PAUSE [RECOVER]]
//
// PAUSE: milliseconds between two steps. RECOVER: when the device is gone, and all is released, it has to
// work again within so many seconds. Prints one line of JSON at its end; the status is 0 where every result
// was right and every error one that says that the device is gone.
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

// What became of all the work. Thread-safe.
class Outcome {
 public:
  void lose(const work::DeviceLost& lost) {
    const std::scoped_lock lock(mutex_);
    if (!lost_) lost_ = lost;
    over_ = true;
  }
  [[nodiscard]] bool is_over() const { return over_; }
  void count_step() { ++steps_; }
  [[nodiscard]] bool is_lost() const { return over_; }

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

void work_on(const work::Rig& rig, const Options& orders, unsigned number, Outcome& outcome) {
  work::Random random(orders.seed * 2 + number);
  try {
    while (!outcome.is_over() && steady_clock::now() < orders.until) {
      work::random_step(rig, random);
      outcome.count_step();
      if (orders.pause.count() != 0) std::this_thread::sleep_for(orders.pause);
    }
  } catch (const work::DeviceLost& lost) {
    outcome.lose(lost);
  }
}

void work_together(cl_device_id device, const Options& orders, Outcome& outcome) {
  try {
    const work::Rig first(device);
    const work::Rig second(device, first);
    std::thread other([&] { work_on(second, orders, 1, outcome); });
    work_on(first, orders, 0, outcome);
    other.join();
    if (outcome.is_lost()) work::expect_all_lost(second);
  } catch (const work::DeviceLost& lost) {
    outcome.lose(lost);
  }
}

bool recovers(cl_device_id device, const Options& orders) {
  const auto until = steady_clock::now() + orders.recover;
  work::Random random(orders.seed);
  while (steady_clock::now() < until) {
    try {
      work::add_up(work::Rig(device), random);
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
  const Options orders{steady_clock::now() + std::chrono::seconds(argument(1)),
                       static_cast<unsigned>(argument(2)), milliseconds(argument(3)),
                       std::chrono::seconds(argument(4))};
  Outcome outcome;
  cl_device_id const device = work::first_device();
  if (device == nullptr) {  // before the program knew of any
    outcome.lose({"clGetDeviceIDs", CL_DEVICE_NOT_FOUND});
    outcome.print("null");
    return 0;
  }
  work_together(device, orders, outcome);
  const bool may_recover = outcome.is_lost() && orders.recover.count() != 0;
  const bool recovered = may_recover && recovers(device, orders);
  outcome.print(!may_recover ? "null" : recovered ? "true" : "false");
  return may_recover && !recovered ? 1 : 0;
}
