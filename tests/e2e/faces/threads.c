/* Sixteen threads make the program's first OpenCL call at the same moment, and each launches. */
#include <pthread.h>
#include <stdio.h>

#include "core.h"

enum { kThreads = 16 };

static const struct opencl opencl = LINKED_OPENCL;
static pthread_barrier_t start;

static void* launch(void* answer) {
  pthread_barrier_wait(&start);
  *(cl_int*)answer = opencl.clGetPlatformIDs(0, NULL, NULL); /* an error of its own: CL_INVALID_VALUE */
  run_one_launch(&opencl, "thread");
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  cl_int answers[kThreads];
  pthread_barrier_init(&start, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, launch, &answers[i]) != 0) return 1;
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    printf("answer: %d\n", answers[i]);
  }
  return 0;
}
