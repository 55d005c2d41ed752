// The cost of waiting for a launch natively and under Cleave, and the delay until its end is noticed, as a Markdown table.
//
//   cleave_waits LIBRARY [--platform SUBSTRING] [--seconds S] [--rounds N]
//
// LIBRARY is Cleave's drop-in, lib/cleave/libOpenCL.so.1. The ways of waiting are run in turn, each in a
// process of its own, and compared within this run. About 20 seconds with the defaults.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure.h"
#include "tests/kit/command_line.h"

namespace {

struct Options {
  std::string self;
  std::string library;
  std::string platform;
  double seconds = 1;
  unsigned rounds = 2;
};

struct Way {
  const char* name;
  const char* environment;  // before the command; LIBRARY stands for the library
  unsigned warm_up;         // short launches first, for what is learnt
};

constexpr Way kNative{"native", "", 3};
constexpr Way kSleeping{"sleeping", "LD_PRELOAD=$LIBRARY CLEAVE_WAIT=sleeping CLEAVE_SPLIT=off ", 3};
// The defaults, with four neighbours: split, and sleeping waits where the driver's own spin.
constexpr Way kAuto{"auto, 5 VMs", "LD_PRELOAD=$LIBRARY CLEAVE_VMS=5 ", 5};

std::vector<std::vector<std::string>> run(const Options& options, const Way& way,
                                          const std::string& arguments) {
  std::string command = std::string(way.environment) + "'" + options.self + "' " + arguments;
  if (const auto at = command.find("$LIBRARY"); at != std::string::npos) {
    command.replace(at, std::strlen("$LIBRARY"), "'" + options.library + "'");
  }
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no process to measure in");
  std::vector<std::vector<std::string>> lines;
  char line[256];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::istringstream words(line);
    std::vector<std::string> row;
    for (std::string word; words >> word;) row.push_back(word);
    lines.push_back(row);
  }
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return lines;
}

struct Cost {
  double wall = 0;
  double thread = 0;
  double process = 0;
};

void print_costs(const Options& options, const std::string& steps) {
  std::map<std::string, std::map<std::string, Cost>> all;  // by call and way
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (const Way& way : {kNative, kSleeping, kAuto}) {
      if (round != 0 && std::strcmp(way.name, kAuto.name) == 0) continue;
      const auto arguments =
          "--costs '" + options.platform + "' " + steps + " " + std::to_string(way.warm_up);
      for (const auto& row : run(options, way, arguments)) {
        Cost& cost = all[row.at(0)][way.name];
        const Cost own{std::stod(row.at(1)), std::stod(row.at(2)), std::stod(row.at(3))};
        if (cost.wall == 0 || own.wall < cost.wall) cost = own;
      }
    }
  }
  std::printf(
      "| call | way | wall | ratio | processor, thread | processor, process |\n|---|---|---|---|---|---|\n");
  for (auto& [call, ways] : all) {
    for (const Way& way : {kNative, kSleeping, kAuto}) {
      const Cost& cost = ways[way.name];
      std::printf("| `%s` | %s | %.3f s | %.3f | %.3f s | %.3f s |\n", call.c_str(), way.name, cost.wall,
                  cost.wall / ways[kNative.name].wall, cost.thread, cost.process);
    }
  }
}

void print_lateness(const Options& options, const std::string& steps) {
  std::printf(
      "\n| way | launch | late, median | late, most | share | bound (3 %% or 60 us) "
      "|\n|---|---|---|---|---|---|\n");
  for (const Way& way : {kNative, kSleeping}) {
    for (const auto& row : run(options, way, "--lateness '" + options.platform + "' " + steps + " 9")) {
      const double length = std::stod(row.at(0));
      const double median = std::stod(row.at(1));
      const double bound = std::max(0.03 * length, 60e-6);
      std::printf("| %s | %.2f ms | %.0f us | %.0f us | %.2f %% | %.0f us |\n", way.name, 1e3 * length,
                  1e6 * median, 1e6 * std::stod(row.at(2)), 100 * median / length, 1e6 * bound);
    }
  }
}

Options read(int count, char** words) {
  Options options;
  options.self = words[0];
  kit::CommandLine line;
  line.value("--platform", options.platform);
  line.value("--seconds", options.seconds).value("--rounds", options.rounds);
  const std::vector<std::string> others = line.read(count, words);
  if (!others.empty()) options.library = others.back();
  if (options.library.empty()) {
    throw std::runtime_error("usage: cleave_waits LIBRARY [--platform SUBSTRING] [--seconds S] [--rounds N]");
  }
  return options;
}

int run_all(int count, char** words) {
  const std::string first = count > 1 ? words[1] : "";
  if (count == 4 && first == "--calibrate") {
    waits::calibrate(words[2], std::stod(words[3]));
  } else if (count == 5 && first == "--costs") {
    waits::costs(words[2], std::stoul(words[3]), static_cast<unsigned>(std::stoul(words[4])));
  } else if (count == 5 && first == "--lateness") {
    waits::lateness(words[2], std::stoul(words[3]), static_cast<unsigned>(std::stoul(words[4])));
  } else {
    const Options options = read(count, words);
    const auto steps =
        run(options, kNative, "--calibrate '" + options.platform + "' " + std::to_string(options.seconds));
    print_costs(options, steps.at(0).at(0));
    print_lateness(options, steps.at(0).at(0));
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run_all(count, words);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "cleave_waits: %s\n", failure.what());
    return 1;
  }
}
