// Forks after OpenCL was used. No driver promises to work in such a child, so it only queries the platforms
// and exits as children do, through its exit handlers. The parent goes on.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "one_launch.h"

int main() {
  const kit::Api cl = linked_functions();
  run_one_launch(cl, "before");
  const int child = fork();
  if (child == 0) {
    cl_uint platforms = 0;
    const cl_int error = cl.clGetPlatformIDs(0, nullptr, &platforms);
    std::printf("child: %d, %u platforms\n", error, platforms);
    std::exit(0);
  }
  const bool succeeded = has_succeeded(child);
  run_one_launch(cl, "after");
  return succeeded ? 0 : 1;
}
