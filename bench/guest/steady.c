/* A plain OpenCL program for a guest: launches the same kernel twice a second, until it is ended, and looks
 * at every result. It knows nothing of Cleave. */
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kItems = 4096, kGroup = 16, kPause = 500000 /* microseconds */ };

static const char* const source =
    "kernel void steady(global uint* out, uint round) { out[get_global_id(0)] = get_global_id(0) * round; }";

static void check(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "steady: %s: %d\n", what, error);
  exit(1);
}

static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;

static void set_up(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  char name[128] = "";
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL), "clGetPlatformInfo");
  printf("steady: platform %s\n", name);
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error, "clCreateContext");
  queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_program program = clCreateProgramWithSource(context, 1, (const char**)&source, NULL, &error);
  check(error, "clCreateProgramWithSource");
  check(clBuildProgram(program, 0, NULL, "", NULL, NULL), "clBuildProgram");
  kernel = clCreateKernel(program, "steady", &error);
  check(error, "clCreateKernel");
  buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, kItems * sizeof(cl_uint), NULL, &error);
  check(error, "clCreateBuffer");
  check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
}

static void launch(cl_uint round) {
  static cl_uint out[kItems];
  const size_t global = kItems;
  const size_t local = kGroup;
  check(clSetKernelArg(kernel, 1, sizeof round, &round), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
        "clEnqueueNDRangeKernel");
  check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL),
        "clEnqueueReadBuffer");
  for (cl_uint i = 0; i < kItems; ++i) {
    if (out[i] != i * round) check(1, "a wrong result");
  }
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  set_up();
  for (cl_uint round = 1;; ++round) {
    launch(round);
    printf("steady: %u right\n", round);
    usleep(kPause);
  }
}
