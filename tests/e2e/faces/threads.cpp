// Sixteen threads make the program's first OpenCL call at the same moment. Then one of them launches, since
// PoCL 3.1 does not survive several threads that find its devices at once, and after it all others together.
#include "tests/kit/threads.h"

#include <array>
#include <barrier>
#include <cstdio>

#include "one_launch.h"

int main() {
  constexpr std::size_t kThreads = 16;
  const kit::Api cl = linked_functions();
  std::array<cl_uint, kThreads> platforms{};
  std::barrier barrier(kThreads);
  kit::on_threads(kThreads, [&](std::size_t i) {
    barrier.arrive_and_wait();
    if (cl.clGetPlatformIDs(0, nullptr, &platforms.at(i)) != CL_SUCCESS) platforms.at(i) = 0;
    barrier.arrive_and_wait();
    if (i == 0) run_one_launch(cl, "thread");
    barrier.arrive_and_wait();
    if (i != 0) run_one_launch(cl, "thread");
  });
  for (const cl_uint found : platforms) std::printf("platforms: %u\n", found);
  return 0;
}
