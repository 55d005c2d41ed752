// Sixteen threads make the program's first OpenCL call at the same moment. Then one of them launches, since
// PoCL 3.1 does not survive several threads that find its devices at once, and after it all others together.
#include <array>
#include <barrier>
#include <cstdio>
#include <thread>
#include <vector>

#include "one_launch.h"

int main() {
  constexpr std::size_t kThreads = 16;
  const kit::Api cl = linked_functions();
  std::array<cl_uint, kThreads> platforms{};
  std::barrier barrier(kThreads);
  std::vector<std::thread> threads;
  for (cl_uint& found : platforms) {
    threads.emplace_back([&] {
      barrier.arrive_and_wait();
      if (cl.clGetPlatformIDs(0, nullptr, &found) != CL_SUCCESS) found = 0;
      barrier.arrive_and_wait();
      const bool is_first = &found == platforms.data();
      if (is_first) run_one_launch(cl, "thread");
      barrier.arrive_and_wait();
      if (!is_first) run_one_launch(cl, "thread");
    });
  }
  for (std::thread& one : threads) one.join();
  for (const cl_uint found : platforms) std::printf("platforms: %u\n", found);
  return 0;
}
