/* What the programs of this folder have in common: one small launch. They differ only in how they find the functions of
 * OpenCL. */
#ifndef ONE_LAUNCH_H_
#define ONE_LAUNCH_H_

#include <CL/cl_icd.h>

#define FOR_EACH_FUNCTION(visit)                                                                         \
  visit(clGetPlatformIDs) visit(clGetDeviceIDs) visit(clCreateContext) visit(clReleaseContext)           \
      visit(clCreateCommandQueue) visit(clReleaseCommandQueue) visit(clCreateBuffer)                     \
          visit(clReleaseMemObject) visit(clCreateProgramWithSource) visit(clBuildProgram)               \
              visit(clReleaseProgram) visit(clCreateKernel) visit(clSetKernelArg) visit(clReleaseKernel) \
                  visit(clEnqueueNDRangeKernel) visit(clEnqueueReadBuffer)

struct opencl {
#define FIELD(name) cl_api_##name name;
  FOR_EACH_FUNCTION(FIELD)
#undef FIELD
};

/* For programs that are linked with OpenCL: an initialiser for the struct. */
#define LINKED_FIELD(name) .name = name,
#define LINKED_OPENCL \
  { FOR_EACH_FUNCTION(LINKED_FIELD) }

/* Fills `opencl` by dlsym(library, name), or by dlvsym(library, name, version) unless `version` is null. Ends the program if
 * a function is missing. */
void find_functions(struct opencl* opencl, void* library, const char* version);

/* dlopen() that ends the program if there is no such library. */
void* open_library(const char* name, int flags);

/* Builds a kernel, launches it over 4096 work-items in groups of 16, checks every result, and prints a line with `title` and
 * a checksum. Releases all of its objects. Ends the program if anything is wrong. May be called from several threads. */
void run_one_launch(const struct opencl* opencl, const char* title);

#endif /* ONE_LAUNCH_H_ */
