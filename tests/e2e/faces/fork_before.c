/* Forks before the first use of OpenCL; parent and child then launch. */
#include <stdlib.h>
#include <unistd.h>

#include <sys/wait.h>

#include "one_launch.h"

int main(void) {
  const struct opencl opencl = LINKED_OPENCL;
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    run_one_launch(&opencl, "child");
    exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  run_one_launch(&opencl, "parent");
  return status != 0;
}
