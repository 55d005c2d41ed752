// Forks repeatedly while another thread launches. Every child must end: no lock of Cleave's may stay locked in it.
#include <cstdio>
#include <thread>
#include <unistd.h>

#include "one_launch.h"

int main() {
  constexpr int kLaunches = 20;
  constexpr int kForks = 60;
  const kit::Api cl = linked_functions();
  bool failed = false;
  run_one_launch(cl, "first");
  std::thread busy([&] {
    for (int i = 0; i < kLaunches; ++i) run_one_launch(cl, "busy");
  });
  for (int i = 0; i < kForks; ++i) {
    const int child = fork();
    if (child == 0) {
      alarm(20);  // a child that hangs is killed
      cl.clReleaseKernel(nullptr);
      cl.clReleaseProgram(nullptr);
      _exit(0);
    }
    if (!has_succeeded(child)) failed = true;
  }
  busy.join();
  std::printf("forks: %s\n", failed ? "some failed" : "all children ended");
  return failed ? 1 : 0;
}
