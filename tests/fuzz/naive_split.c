// A splitter that splits every launch without checking it. fuzz.py has to detect it.
#define _GNU_SOURCE
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdlib.h>

typedef cl_int (*Enqueue)(cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*,
                          cl_uint, const cl_event*, cl_event*);

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint waits, const cl_event* list,
                              cl_event* event) {
  Enqueue next = NULL;
  *(void**)&next = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
  const char* wanted = getenv("CLEAVE_SPLIT");
  if (wanted == NULL || dims < 1 || dims > 3 || global == NULL || local == NULL || local[0] == 0 ||
      global[0] % local[0] != 0 || global[0] == local[0] || global[0] < local[0])
    return next(queue, kernel, dims, offset, global, local, waits, list, event);
  size_t from[3] = {0, 0, 0};
  size_t size[3] = {1, 1, 1};
  for (cl_uint dim = 0; dim < dims; ++dim) {
    from[dim] = offset == NULL ? 0 : offset[dim];
    size[dim] = global[dim];
  }
  size[0] = local[0];
  const cl_int status = next(queue, kernel, dims, from, size, local, waits, list, NULL);
  if (status != CL_SUCCESS) return status;
  from[0] += local[0];
  size[0] = global[0] - local[0];
  return next(queue, kernel, dims, from, size, local, waits, list, event);
}
