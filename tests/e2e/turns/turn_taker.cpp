// Launches in every way that a program may: waited for at once, by an event, or not before the next one; whole and such that
// can be cut; on two queues; short and long. Checks what they did, and says "right".
//
//   turn_taker ROUNDS           one round after another
//   turn_taker ROUNDS paired    a line is read before each round, and one is written after it
//   turn_taker ROUNDS left      at the end, a launch is left alone: the program exits without waiting for it
//
// Without an end if ROUNDS is 0.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

namespace {

constexpr std::size_t kItems = 8192;

const char* const kSource = R"(
  kernel void steps(global uint* out, uint count) {
    uint x = get_global_id(0);
    for (uint i = 0; i < count; ++i) x = x * 1664525u + 1013904223u;
    out[get_global_id(0)] += x != 0 ? 1 : 1;
  }
  kernel void groups(global uint* out) { out[get_global_id(0)] += get_local_id(0) < 16 ? 1 : 0; }
)";

const kit::Api cl(kit::linked_table(), kit::end_program);

struct Program {
  cl_device_id device = cl.device_of();
  kit::Context context = cl.context(device);
  kit::Queue queue = cl.queue(context, device);
  kit::Queue other_queue = cl.queue(context, device);
  kit::Buffer buffer = cl.buffer(context, std::vector<cl_uint>(kItems, 0));
  kit::Program program = cl.build(context, kSource);
  kit::Kernel short_steps = cl.kernel(program, "steps", buffer, cl_uint{10});
  kit::Kernel long_steps = cl.kernel(program, "steps", buffer, cl_uint{2000});
  kit::Kernel groups = cl.kernel(program, "groups", buffer);
  cl_uint launches = 0;

  void launch(const kit::Queue& where, const kit::Kernel& kernel, const kit::Waits& waits = {},
              cl_event* event = nullptr) {
    cl.check("clEnqueueNDRangeKernel", cl.launch(where, kernel, {kItems, 16}, waits, event));
    ++launches;
  }

  void play_round(unsigned round) {
    launch(queue, long_steps);
    if (round % 3 == 0) cl.check("clFinish", cl.clFinish(queue));
    for (unsigned i = 0; i < 5; ++i) launch(queue, i % 2 == 0 ? short_steps : groups);
    kit::Event done = cl.event();
    launch(queue, short_steps, {}, done.out());
    cl.check("clFlush", cl.clFlush(queue));
    launch(other_queue, short_steps, {done});
    kit::Event last = cl.event();
    launch(other_queue, groups, {}, last.out());
    cl.check("clWaitForEvents", cl.wait({last}));
    if (round % 2 == 0) expect_results();
  }

  void expect_results() {
    const auto content = cl.read<cl_uint>(other_queue, buffer, kItems);
    if (content == std::vector<cl_uint>(kItems, launches)) return;
    std::puts("wrong");
    std::exit(1);
  }
};

}  // namespace

int main(int count, char** arguments) {
  const unsigned rounds = count > 1 ? static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10)) : 0;
  const std::string_view mode = count > 2 ? arguments[2] : "";
  const bool paired = mode == "paired";
  Program program;
  std::string line;
  for (unsigned round = 0; rounds == 0 || round < rounds; ++round) {
    if (paired && !std::getline(std::cin, line)) return 2;
    program.play_round(round);
    if (paired || round == 0) std::puts(paired ? "next" : "began");
    std::fflush(stdout);
  }
  program.expect_results();
  std::puts("right");
  if (mode == "left") {
    std::fflush(stdout);
    for (unsigned i = 0; i < 3; ++i) program.launch(program.queue, program.long_steps);
    std::exit(0);
  }
  return 0;
}
