/* Forks repeatedly while another thread launches. Every child must end: no lock of Cleave's may stay locked in it. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/wait.h>

#include "one_launch.h"

enum { kLaunches = 20, kForks = 60 };

static const struct opencl opencl = LINKED_OPENCL;

static void* launch_often(void* unused) {
  for (int i = 0; i < kLaunches; ++i) run_one_launch(&opencl, "busy");
  return unused;
}

int main(void) {
  pthread_t thread;
  int failed = 0;
  run_one_launch(&opencl, "first");
  if (pthread_create(&thread, NULL, launch_often, NULL) != 0) return 1;
  for (int i = 0; i < kForks; ++i) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
      alarm(20); /* a child that hangs is killed */
      opencl.clReleaseKernel(NULL);
      opencl.clReleaseProgram(NULL);
      _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) failed = 1;
  }
  pthread_join(thread, NULL);
  printf("forks: %s\n", failed ? "some failed" : "all children ended");
  return failed;
}
