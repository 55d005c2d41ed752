// Metrics of GPU-Virt-Bench, on one device: see bench/metrics/metrics.h. It does not depend on Cleave.
//
//   cleave_metrics METRIC...               each of these in turn
//   cleave_metrics beside                  IS-006 and IS-009: measures alone, prints "alone", reads a line and measures again
//   cleave_metrics neighbour               launches from "ready" on until there is something to read
//   cleave_metrics busy SECONDS            IS-003
//   cleave_metrics holds WORD              IS-005: prints the address of that word, until there is something to read
//   cleave_metrics reads ADDRESS WORD      whether it can read it: says so, or is ended for it
//
// With --platform SUBSTRING: of the platform's name; else the first GPU, or the first device. --quick: few repetitions.
//
// Prints a line of JSON for each metric. The exit status is 1 if a kernel's result is wrong.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <unistd.h>

#include "bench/metrics/metrics.h"
#include "tests/kit/timing.h"

namespace metrics {

const Metric* find(const std::string& name) {
  for (const auto* metrics : {&overheads(), &limits(), &errors()}) {
    for (const Metric& metric : *metrics) {
      if (metric.name == name) return &metric;
    }
  }
  throw std::invalid_argument(name);
}

namespace {

void print_values(const std::string& metric, const Values& values) {
  std::printf("{\"metric\": \"%s\", \"values\": [", metric.c_str());
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%s%.9g", i == 0 ? "" : ", ", values[i]);
  std::puts("]}");
  std::fflush(stdout);
}

void say(const char* word) {
  std::puts(word);
  std::fflush(stdout);
}

void await_input() {
  char letter = 0;
  static_cast<void>(read(STDIN_FILENO, &letter, 1));
}

int end(Device& device) { return device.is_right() ? 0 : 1; }

int measure(const Options& options, const std::vector<std::string>& names) {
  for (const std::string& name : names) static_cast<void>(find(name));
  Device device(options);
  for (const std::string& name : names) print_values(name, find(name)->measure(device));
  return end(device);
}

int beside(const Options& options) {
  Device device(options);
  // With the moments at which each begins and ends, in seconds of the steady clock.
  const auto measure_one = [&](const std::string& metric, const char* when, const Batches& batches) {
    const double begin = kit::now();
    print_values(metric + " " + when, time_of(device, batches));
    print_values(metric + " " + when + " during", {begin, kit::now()});
  };
  const auto measure_both = [&](const char* when) {
    measure_one("IS-006", when, isolation_batches(device));
    measure_one("IS-009", when, noise_batches(device));
  };
  measure_both("alone");
  say("alone");
  await_input();
  measure_both("beside");
  return end(device);
}

int neighbour(const Options& options) {
  Device device(options);
  say("ready");
  print_values("ends", keep_launching(device));
  return end(device);
}

int busy(const Options& options, double seconds) {
  print_values("IS-003", keep_busy(options, seconds));
  return 0;
}

int holds(const Options& options, cl_ulong word) {
  Device device(options);
  const Secret secret(device, word);
  std::printf("%ju\n", static_cast<std::uintmax_t>(reinterpret_cast<std::uintptr_t>(secret.address())));
  std::fflush(stdout);
  await_input();
  return end(device);
}

int reads(const Options& options, std::uintptr_t address, cl_ulong word) {
  Device device(options);
  say(can_read(device, std::bit_cast<void*>(address), word) ? "read" : "not read");
  return 0;
}

int run(const Options& options, const std::vector<std::string>& words) {
  const std::string& first = words.at(0);
  if (first == "beside") return beside(options);
  if (first == "neighbour") return neighbour(options);
  if (first == "busy") return busy(options, kit::number<double>(words.at(1)));
  if (first == "holds") return holds(options, kit::number<cl_ulong>(words.at(1)));
  if (first == "reads")
    return reads(options, kit::number<std::uintptr_t>(words.at(1)), kit::number<cl_ulong>(words.at(2)));
  return measure(options, words);
}

}  // namespace
}  // namespace metrics

int main(int count, char** arguments) {
  try {
    metrics::Options options;
    kit::CommandLine line;
    line.value("--platform", options.platform).flag("--quick", options.quick);
    const auto words = line.read(count, arguments);
    return metrics::run(options, words);
  } catch (const std::logic_error& mistake) {
    std::fprintf(stderr,
                 "cleave_metrics: cannot make sense of \"%s\": see bench/metrics/cleave_metrics.cpp\n",
                 mistake.what());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "cleave_metrics: %s\n", failure.what());
  }
  return 2;
}
