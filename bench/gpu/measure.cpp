#include "bench/gpu/measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include "bench/gpu/side.h"

namespace gpu {
namespace {

using Clock = std::chrono::steady_clock;
using Times = std::vector<double>;

// The number behind `key` in JSON that Cleave wrote; the first one is the sum over all kernels.
long number_of(const std::string& json, const std::string& key) {
  const auto at = json.find('"' + key + "\":");
  return at == std::string::npos ? 0 : std::atol(json.c_str() + at + key.size() + 3);
}

void print_list(const char* name, const Times& times) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < times.size(); ++i) std::printf("%s%.4f", i != 0 ? ", " : "", times[i]);
  std::printf("], ");
}

struct Pair {
  Times native;
  Times cleave;
};

// The two alternate, so that both have the same clock rates.
template <typename Native, typename Cleave>
Pair take_turns(int repeats, Native native, Cleave cleave) {
  Pair times;
  for (int i = 0; i < repeats; ++i) {
    times.native.push_back(native());
    times.cleave.push_back(cleave());
  }
  return times;
}

// The longest wait of a small kernel on another queue during some launches, and how much of it passed before the driver accepted
// it: while one thread enqueues slices, another waits for the driver's lock.
Side::Small longest_wait(Side& side, int launches) {
  std::atomic<bool> done{false};
  Side::Small longest{};
  std::jthread neighbour([&] {
    while (!done) {
      const Side::Small small = side.run_small();
      if (small.all > longest.all) longest = small;
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (int i = 0; i < launches; ++i) side.run(false);
  done = true;
  neighbour.join();
  return longest;
}

// What Cleave counted between two of its statistics.
void print_counts(const std::string& before, const std::string& after) {
  for (const char* key : {"launches", "split", "slices", "pipelined"}) {
    std::printf("\"%s\": %ld, ", key, number_of(after, key) - number_of(before, key));
  }
}

}  // namespace

int measure_launches(const Request& request, const kernels::Work& work) {
  Side native(request.loader, request.target, work);
  Side cleave(request.cleave_library(), request.cleave_target(), work);
  native.run(false);
  native.run_small();
  cleave.run_small();
  for (int i = 0; i < std::max(1, request.warm_up); ++i) cleave.run(false);
  native.clear();
  native.run(false);
  const std::vector<cl_uint> expected = native.sample();
  const bool native_right = native.is_right(expected);
  bool right = native_right;
  const auto run = [&](Side& side, bool event) {
    return [&side, &expected, &right, event] {
      side.clear();
      const double time = side.run(event);
      right &= side.sample() == expected;
      return time;
    };
  };
  const std::string before = cleave.statistics();
  const Pair plain = take_turns(request.repeats, run(native, false), run(cleave, false));
  const std::string after = cleave.statistics();
  const Pair event = take_turns(request.events ? request.repeats : 0, run(native, true), run(cleave, true));
  std::printf("{\"work\": \"%s\", \"device\": \"%s\", \"on_processor\": %s, ", work.name.data(),
              cleave.device_text().c_str(), cleave.is_processor() ? "true" : "false");
  print_list("native", plain.native);
  print_list("cleave", plain.cleave);
  print_list("native_event", event.native);
  print_list("cleave_event", event.cleave);
  print_counts(before, after);
  if (request.waits > 0) {
    const Side::Small wait = longest_wait(cleave, request.waits);
    std::printf("\"wait\": %.3f, \"wait_enqueue\": %.3f, ", wait.all, wait.enqueue);
    std::printf("\"native_wait\": %.3f, ", longest_wait(native, request.waits).all);
  }
  std::printf("\"native_right\": %s, \"right\": %s}\n", native_right ? "true" : "false",
              right ? "true" : "false");
  return right ? 0 : 1;
}

int measure_stream(const Request& request, std::size_t count) {
  Request small = request;
  small.target.small = true;
  Side native(small.loader, small.target, kernels::kEmpty);
  Side cleave(small.cleave_library(), small.cleave_target(), kernels::kEmpty);
  for (Side* side : {&native, &cleave}) side->run_stream(count / 10 + 1);
  const std::string before = cleave.statistics();
  const auto run = [count](Side& side) { return [&side, count] { return side.run_stream(count); }; };
  const Pair times = take_turns(request.repeats, run(native), run(cleave));
  std::printf("{\"device\": \"%s\", \"on_processor\": %s, ", cleave.device_text().c_str(),
              cleave.is_processor() ? "true" : "false");
  print_list("native", times.native);
  print_list("cleave", times.cleave);
  print_counts(before, cleave.statistics());
  std::printf("\"count\": %zu}\n", count);
  return 0;
}

int keep_busy(const Request& request, const kernels::Work& work, bool native, double seconds) {
  Side side(native ? request.loader : request.cleave_library(),
            native ? request.target : request.cleave_target(), work);
  const std::string before = side.statistics();
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration<double>(seconds);
  const std::clock_t processor = std::clock();
  Times times;
  do {
    side.clear();
    times.push_back(side.run(false));
  } while (Clock::now() < end);
  const std::clock_t used = std::clock() - processor;
  const double ended = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  const bool right = side.is_right(side.sample());
  std::printf("{\"device\": \"%s\", \"on_processor\": %s, \"begin\": %.6f, \"end\": %.6f, ",
              side.device_text().c_str(), side.is_processor() ? "true" : "false",
              std::chrono::duration<double>(begin.time_since_epoch()).count(), ended);
  print_list("times", times);
  print_counts(before, side.statistics());
  std::printf("\"processor\": %.3f, \"right\": %s}\n", 1e3 * static_cast<double>(used) / CLOCKS_PER_SEC,
              right ? "true" : "false");
  return right ? 0 : 1;
}

int count_turns(unsigned threads, double seconds) {
  std::atomic<std::uint64_t> turns{0};
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  {
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < threads; ++i) {
      all.emplace_back([&turns, end, i] {
        std::uint64_t own = 0;
        volatile std::uint64_t value = i;
        for (; Clock::now() < end; ++own) {
          for (unsigned k = 0; k < 100000; ++k) value = value * 6364136223846793005U + 1442695040888963407U;
        }
        turns += own;
      });
    }
  }
  std::printf("{\"turns\": %llu, \"processor\": %.3f}\n", static_cast<unsigned long long>(turns.load()),
              1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
  return 0;
}

}  // namespace gpu
