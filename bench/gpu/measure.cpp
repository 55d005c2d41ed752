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

// The two take turns, so that both see the same clock rates.
template <typename Native, typename Cleave>
Pair take_turns(int repeats, Native native, Cleave cleave) {
  Pair times;
  for (int i = 0; i < repeats; ++i) {
    times.native.push_back(native());
    times.cleave.push_back(cleave());
  }
  return times;
}

// The longest wait of a small kernel on another queue during some launches.
double longest_wait(Side& side, int launches) {
  std::atomic<bool> done{false};
  double longest = 0;
  std::jthread neighbour([&] {
    while (!done) {
      longest = std::max(longest, side.run_small());
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

int measure_launches(const Request& request) {
  const Work& work = kWorks.at(request.work);
  Side native(request.loader, request.platform, work, request.small);
  Side cleave(request.library, request.platform, work, request.small);
  native.run(false);
  native.run_small();
  cleave.run_small();
  for (int i = 0; i < std::max(1, request.warm_up); ++i) cleave.run(false);
  const auto run = [](Side& side, bool event) { return [&side, event] { return side.run(event); }; };
  const std::string before = cleave.statistics();
  const Pair plain = take_turns(request.repeats, run(native, false), run(cleave, false));
  const std::string after = cleave.statistics();
  const Pair event = take_turns(request.repeats, run(native, true), run(cleave, true));
  const bool identical = native.sample() == cleave.sample();
  std::printf("{\"work\": \"%s\", \"device\": \"%s\", ", work.name.data(), cleave.device_text().c_str());
  print_list("native", plain.native);
  print_list("cleave", plain.cleave);
  print_list("native_event", event.native);
  print_list("cleave_event", event.cleave);
  print_counts(before, after);
  if (request.waits > 0) {
    std::printf("\"wait\": %.3f, ", longest_wait(cleave, request.waits));
    std::printf("\"native_wait\": %.3f, ", longest_wait(native, request.waits));
  }
  std::printf("\"identical\": %s}\n", identical ? "true" : "false");
  return identical ? 0 : 1;
}

int measure_stream(const Request& request, std::size_t count) {
  const Work& work = kWorks.at(request.work);
  Side native(request.loader, request.platform, work, true);
  Side cleave(request.library, request.platform, work, true);
  for (Side* side : {&native, &cleave}) side->run_stream(count / 10 + 1);
  const std::string before = cleave.statistics();
  const auto run = [count](Side& side) { return [&side, count] { return side.run_stream(count); }; };
  const Pair times = take_turns(request.repeats, run(native), run(cleave));
  std::printf("{\"device\": \"%s\", ", cleave.device_text().c_str());
  print_list("native", times.native);
  print_list("cleave", times.cleave);
  print_counts(before, cleave.statistics());
  std::printf("\"count\": %zu}\n", count);
  return 0;
}

int keep_busy(const Request& request, bool native, double seconds) {
  Side side(native ? request.loader : request.library, request.platform, kWorks.at(request.work),
            request.small);
  unsigned launches = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (; Clock::now() < end; ++launches) side.run(false);
  std::printf("{\"launches\": %u, \"processor\": %.3f}\n", launches,
              1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
  return 0;
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
