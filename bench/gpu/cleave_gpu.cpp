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
#include "tests/kit/command_line.h"

namespace gpu {
namespace {

struct Task {
  std::vector<std::string> words;
  Request request;
};

Task read(int count, char** arguments) {
  Task task;
  Request& request = task.request;
  bool no_events = false;
  kit::CommandLine line;
  line.flag("--small", request.target.small).flag("--vendor", request.vendor).flag("--no-events", no_events);
  line.value("--platform", request.target.platform).value("--library", request.library);
  line.value("--repeats", request.repeats).value("--warm-up", request.warm_up);
  line.value("--waits", request.waits);
  task.words = line.read(count, arguments);
  request.events = !no_events;
  return task;
}

int measure_all(const Task& task) {
  int status = 0;
  for (std::size_t i = 1; i < task.words.size(); ++i) {
    status |= measure_launches(task.request, kernels::find(task.words[i]));
    std::fflush(stdout);
  }
  return status;
}

int carry_out(const Task& task) {
  const auto word = [&](std::size_t i) { return task.words.at(i); };
  if (word(0) != "turns" && task.request.library.empty() && !task.request.vendor)
    throw std::invalid_argument("no --library");
  if (word(0) == "launches") return measure_all(task);
  if (word(0) == "stream") return measure_stream(task.request, std::stoul(word(1)));
  if (word(0) == "turns") return count_turns(static_cast<unsigned>(std::stoul(word(1))), std::stod(word(2)));
  if (word(0) != "busy") throw std::invalid_argument(word(0));
  return keep_busy(task.request, kernels::find(word(3)), word(1) == "native", std::stod(word(2)));
}

}  // namespace
}  // namespace gpu

int main(int count, char** arguments) {
  try {
    return gpu::carry_out(gpu::read(count, arguments));
  } catch (const std::logic_error& mistake) {
    std::fprintf(stderr, "cleave_gpu: cannot make sense of \"%s\": see bench/gpu/cleave_gpu.cpp\n",
                 mistake.what());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "cleave_gpu: %s\n", failure.what());
  }
  return 2;
}
