/* Forks after OpenCL was used. No driver promises to work in such a child, so it only asks for the platforms
 * and exits as children do, through its exit handlers. The parent goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/wait.h>

#include "one_launch.h"

int main(void) {
  const struct opencl opencl = LINKED_OPENCL;
  int status = 0;
  run_one_launch(&opencl, "before");
  const pid_t child = fork();
  if (child == 0) {
    cl_uint platforms = 0;
    const cl_int error = opencl.clGetPlatformIDs(0, NULL, &platforms);
    printf("child: %d, %u platforms\n", error, platforms);
    exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  run_one_launch(&opencl, "after");
  return status != 0;
}
