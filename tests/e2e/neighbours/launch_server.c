/* Executes the commands on its standard input: "launch" launches a kernel, "fork" forks a child that only exits, "ask" does
 * nothing. Answers each with a line: Cleave's statistics, or "native" without Cleave. Ends with the input. */
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

enum { kItems = 8192 };

static const char* const source =
    "kernel void follow(global uint* out) { out[get_global_id(0)] += (uint)get_global_id(0); }";

typedef cl_int(CL_API_CALL* get_info)(cl_device_id, cl_uint, size_t, void*, size_t*);

static void check(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, error);
  exit(1);
}

static void print_statistics(void) {
  static char text[1 << 16];
  void* const found = clGetExtensionFunctionAddress("clGetCleaveInfo");
  get_info info = NULL;
  memcpy(&info, &found, sizeof info); /* ISO C has no such conversion; POSIX promises the bytes */
  if (info == NULL || info(NULL, 0x4C06, sizeof text, text, NULL) != CL_SUCCESS) strcpy(text, "native\n");
  fputs(text, stdout);
  fflush(stdout);
}

static void fork_child(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) exit(0);
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(1);
}

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  char line[64];
  const size_t global = kItems;
  const size_t local = 16;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_program program = clCreateProgramWithSource(context, 1, (const char**)&source, NULL, &error);
  check(clBuildProgram(program, 0, NULL, "", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "follow", &error);
  check(error, "clCreateKernel");
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, kItems * sizeof(cl_uint), NULL, &error);
  check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strcmp(line, "fork\n") == 0) fork_child();
    if (strcmp(line, "launch\n") == 0) {
      check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
            "clEnqueueNDRangeKernel");
      check(clFinish(queue), "clFinish");
    }
    print_statistics();
  }
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
