/* A library to preload that overrides one function and finds the real one with dlsym(RTLD_NEXT), as tracers do. At exit it
 * prints how many launches it counted. */
#define _GNU_SOURCE
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int launches;

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                                       const size_t* offset, const size_t* global,
                                                       const size_t* local, cl_uint waits,
                                                       const cl_event* wait_list, cl_event* event) {
  void* symbol = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
  __typeof__(&clEnqueueNDRangeKernel) next;
  memcpy(&next, &symbol, sizeof next);
  ++launches;
  return next(queue, kernel, dims, offset, global, local, waits, wait_list, event);
}

__attribute__((destructor)) static void print_count(void) {
  fprintf(stderr, "tracer: %d launches\n", launches);
}
