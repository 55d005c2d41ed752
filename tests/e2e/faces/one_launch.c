#define _GNU_SOURCE
#include "one_launch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kItems = 4096, kGroup = 16 };

static const char* const kSource =
    "kernel void scramble(global uint* out, uint seed) {\n"
    "  uint i = (uint)get_global_id(0);\n"
    "  out[i] = (i ^ seed) * 2654435761u;\n"
    "}\n";

static void check(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  _Exit(EXIT_FAILURE); /* also fit for exit handlers and forked children */
}

void* open_library(const char* name, int flags) {
  void* library = dlopen(name, flags);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    _Exit(EXIT_FAILURE);
  }
  return library;
}

static void* find(void* library, const char* name, const char* version) {
  void* symbol = version != NULL ? dlvsym(library, name, version) : dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    _Exit(EXIT_FAILURE);
  }
  return symbol;
}

void find_functions(struct opencl* opencl, void* library, const char* version) {
  void* symbol;
/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that the bytes do. */
#define FIND(name)                        \
  symbol = find(library, #name, version); \
  memcpy(&opencl->name, &symbol, sizeof symbol);
  FOR_EACH_FUNCTION(FIND)
#undef FIND
}

static cl_uint launch(const struct opencl* cl, cl_context context, cl_device_id device, cl_uint* results) {
  const cl_uint seed = 12345;
  const size_t global = kItems;
  const size_t local = kGroup;
  cl_int error;
  cl_command_queue queue = cl->clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_mem buffer = cl->clCreateBuffer(context, CL_MEM_WRITE_ONLY, kItems * sizeof *results, NULL, &error);
  check(error, "clCreateBuffer");
  const char* source = kSource;
  cl_program program = cl->clCreateProgramWithSource(context, 1, &source, NULL, &error);
  check(error, "clCreateProgramWithSource");
  check(cl->clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = cl->clCreateKernel(program, "scramble", &error);
  check(error, "clCreateKernel");

  check(cl->clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer), "clSetKernelArg");
  check(cl->clSetKernelArg(kernel, 1, sizeof seed, &seed), "clSetKernelArg");
  check(cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
        "clEnqueueNDRangeKernel");
  check(cl->clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, kItems * sizeof *results, results, 0, NULL, NULL),
        "clEnqueueReadBuffer");

  check(cl->clReleaseKernel(kernel), "clReleaseKernel");
  check(cl->clReleaseProgram(program), "clReleaseProgram");
  check(cl->clReleaseMemObject(buffer), "clReleaseMemObject");
  check(cl->clReleaseCommandQueue(queue), "clReleaseCommandQueue");
  return seed;
}

static cl_uint checksum(const cl_uint* results, cl_uint seed) {
  cl_uint sum = 0;
  for (cl_uint i = 0; i < kItems; ++i) {
    if (results[i] != (i ^ seed) * 2654435761u) check(CL_OUT_OF_RESOURCES, "a wrong result");
    sum = sum * 31 + results[i];
  }
  return sum;
}

void run_one_launch(const struct opencl* cl, const char* title) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  cl_uint results[kItems];
  check(cl->clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error, "clCreateContext");
  memset(results, 0, sizeof results);
  const cl_uint seed = launch(cl, context, device, results);
  check(cl->clReleaseContext(context), "clReleaseContext");
  printf("%s: %08x\n", title, checksum(results, seed));
  fflush(stdout); /* before a fork or an exec */
}
