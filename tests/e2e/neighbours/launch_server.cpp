// Executes the commands on its standard input: "launch" launches a kernel, "fork" forks a child that only exits, "ask" does
// nothing. Answers each with a line: Cleave's statistics, or "native" without Cleave. Ends with the input.
// With a number of milliseconds as argument it launches and answers for ever instead, with such pauses.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

namespace {

constexpr std::size_t kItems = 8192;
constexpr cl_uint kCleaveStatistics = 0x4C06;

const char* const kSource =
    "kernel void follow(global uint* out) { out[get_global_id(0)] += (uint)get_global_id(0); }";

const kit::Api cl(kit::linked_table(), kit::end_program);

void print_statistics() {
  using GetInfo = cl_int(CL_API_CALL*)(cl_device_id, cl_uint, std::size_t, void*, std::size_t*);
  static std::string text(std::size_t{1} << 16U, '\0');
  const auto info = reinterpret_cast<GetInfo>(clGetExtensionFunctionAddress("clGetCleaveInfo"));
  const bool found =
      info != nullptr && info(nullptr, kCleaveStatistics, text.size(), text.data(), nullptr) == CL_SUCCESS;
  std::fputs(found ? text.c_str() : "native\n", stdout);
  std::fflush(stdout);
}

void fork_child() {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) std::exit(0);
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) std::exit(1);
}

void launch(cl_command_queue queue, cl_kernel kernel) {
  cl.check("clEnqueueNDRangeKernel", cl.launch(queue, kernel, {kItems, 16}));
  cl.check("clFinish", cl.clFinish(queue));
}

}  // namespace

int main(int count, char** arguments) {
  const cl_device_id device = cl.device_of();
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  const kit::Buffer buffer = cl.buffer(context, kItems * sizeof(cl_uint));
  const kit::Program program = cl.build(context, kSource);
  const kit::Kernel kernel = cl.kernel(program, "follow", buffer);
  const std::chrono::milliseconds pause(count > 1 ? std::atoi(arguments[1]) : 0);
  while (pause.count() > 0) {
    launch(queue, kernel);
    print_statistics();
    std::this_thread::sleep_for(pause);
  }
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "fork") fork_child();
    if (line == "launch") launch(queue, kernel);
    print_statistics();
  }
  return 0;
}
