// One measurement on one device, as a line of JSON on standard output. The suite (bench/suite) decides the order of
// measurements and Cleave's settings.
//
// cleave_gpu launches WORK... OPTIONS: works in launches, natively and under Cleave; a line for each
// cleave_gpu stream COUNT OPTIONS: so many small launches
// cleave_gpu busy native|cleave SECONDS WORK OPTIONS: for so long
// cleave_gpu turns THREADS SECONDS: no OpenCL, but work on the processor beside it
//
// OPTIONS: --library PATH/libOpenCL.so.1 (Cleave) or --vendor (the loader has it beside the driver),
// --platform SUBSTRING, --repeats N, --warm-up N, --waits N,
// --no-events, --small
//
// The exit status is 0 only if all results were equal to the native ones.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu/measure.h"
#include "bench/kernels/work.h"

namespace gpu {
namespace {

struct CommandLine {
  std::vector<std::string> words;
  Request request;
};

CommandLine read(const std::vector<std::string>& arguments) {
  CommandLine line;
  Request& request = line.request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--small") {
      request.target.small = true;
    } else if (word == "--vendor") {
      request.vendor = true;
    } else if (word == "--no-events") {
      line.request.events = false;
    } else if (word == "--platform") {
      request.target.platform = arguments.at(++i);
    } else if (word == "--library") {
      request.library = arguments.at(++i);
    } else if (word == "--repeats") {
      request.repeats = std::stoi(arguments.at(++i));
    } else if (word == "--warm-up") {
      request.warm_up = std::stoi(arguments.at(++i));
    } else if (word == "--waits") {
      request.waits = std::stoi(arguments.at(++i));
    } else if (word.starts_with("--")) {
      throw std::invalid_argument(word);
    } else {
      line.words.push_back(word);
    }
  }
  return line;
}

int measure_all(const CommandLine& line) {
  int status = 0;
  for (std::size_t i = 1; i < line.words.size(); ++i) {
    status |= measure_launches(line.request, kernels::find(line.words[i]));
    std::fflush(stdout);
  }
  return status;
}

int carry_out(const CommandLine& line) {
  const auto word = [&](std::size_t i) { return line.words.at(i); };
  if (word(0) != "turns" && line.request.library.empty() && !line.request.vendor)
    throw std::invalid_argument("no --library");
  if (word(0) == "launches") return measure_all(line);
  if (word(0) == "stream") return measure_stream(line.request, std::stoul(word(1)));
  if (word(0) == "turns") return count_turns(static_cast<unsigned>(std::stoul(word(1))), std::stod(word(2)));
  if (word(0) != "busy") throw std::invalid_argument(word(0));
  return keep_busy(line.request, kernels::find(word(3)), word(1) == "native", std::stod(word(2)));
}

}  // namespace
}  // namespace gpu

int main(int count, char** arguments) {
  try {
    return gpu::carry_out(gpu::read({arguments + 1, arguments + count}));
  } catch (const std::logic_error& mistake) {
    std::fprintf(stderr, "cleave_gpu: cannot make sense of \"%s\": see bench/gpu/cleave_gpu.cpp\n",
                 mistake.what());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "cleave_gpu: %s\n", failure.what());
  }
  return 2;
}
