/* Sixteen threads make the program's first OpenCL call at the same moment. Then one of them launches, since
 * PoCL 3.1 does not survive several threads that find its devices at once, and after it all others together.
 */
#include <pthread.h>
#include <stdio.h>

#include "one_launch.h"

enum { kThreads = 16 };

static const struct opencl opencl = LINKED_OPENCL;
static pthread_barrier_t barrier;

static void* first_call_and_launch(void* platforms) {
  pthread_barrier_wait(&barrier);
  const cl_int error = opencl.clGetPlatformIDs(0, NULL, platforms);
  if (error != CL_SUCCESS) *(cl_uint*)platforms = 0;

  const int chosen = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  if (chosen) run_one_launch(&opencl, "thread");
  pthread_barrier_wait(&barrier);
  if (!chosen) run_one_launch(&opencl, "thread");
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  cl_uint platforms[kThreads];
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, first_call_and_launch, &platforms[i]) != 0) return 1;
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) printf("platforms: %u\n", platforms[i]);
  return 0;
}
