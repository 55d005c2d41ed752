/* Uses OpenCL, starts itself again as a child, and that child does the same: three generations. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/wait.h>

#include "one_launch.h"

int main(int count, char** arguments) {
  const struct opencl opencl = LINKED_OPENCL;
  const int generation = count > 1 ? atoi(arguments[1]) : 1;
  char title[32];
  char next[16];
  int status = 0;
  snprintf(title, sizeof title, "generation %d", generation);
  snprintf(next, sizeof next, "%d", generation + 1);
  run_one_launch(&opencl, title);
  if (generation == 3) return 0;
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", arguments[0], next, (char*)NULL);
    _exit(127);
  }
  return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}
