/* A C program that opens OpenCL only when it needs it. Smooths an image repeatedly, each time from one buffer into the other,
 * tile by tile: every launch covers one tile of the image by its global offset. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "one_launch.h"

enum { kWidth = 96, kHeight = 64, kTile = 32, kPasses = 4 };

static const char* const kSource =
    "kernel void smooth(global const uint* in, global uint* out, int width, int height) {\n"
    "  int x = get_global_id(0), y = get_global_id(1);\n"
    "  int left = x > 0 ? x - 1 : x, right = x + 1 < width ? x + 1 : x;\n"
    "  int above = y > 0 ? y - 1 : y, below = y + 1 < height ? y + 1 : y;\n"
    "  uint around = in[y * width + left] + in[y * width + right] + in[above * width + x] + in[below * width "
    "+ x];\n"
    "  out[y * width + x] = (in[y * width + x] * 4 + around) / 8;\n"
    "}\n";

static struct opencl cl;
static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;

static void check(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(1);
}

static cl_program set_up(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  const char* source = kSource;
  check(cl.clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error, "clCreateContext");
  queue = cl.clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_program program = cl.clCreateProgramWithSource(context, 1, &source, NULL, &error);
  check(error, "clCreateProgramWithSource");
  check(cl.clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
  kernel = cl.clCreateKernel(program, "smooth", &error);
  check(error, "clCreateKernel");
  return program;
}

static void smooth(cl_mem in, cl_mem out) {
  const cl_int width = kWidth;
  const cl_int height = kHeight;
  const size_t size[2] = {kTile, kTile};
  const size_t group[2] = {8, 4};
  check(cl.clSetKernelArg(kernel, 0, sizeof(cl_mem), &in), "clSetKernelArg");
  check(cl.clSetKernelArg(kernel, 1, sizeof(cl_mem), &out), "clSetKernelArg");
  check(cl.clSetKernelArg(kernel, 2, sizeof width, &width), "clSetKernelArg");
  check(cl.clSetKernelArg(kernel, 3, sizeof height, &height), "clSetKernelArg");
  for (size_t y = 0; y < kHeight; y += kTile) {
    for (size_t x = 0; x < kWidth; x += kTile) {
      const size_t corner[2] = {x, y};
      check(cl.clEnqueueNDRangeKernel(queue, kernel, 2, corner, size, group, 0, NULL, NULL),
            "clEnqueueNDRangeKernel");
    }
  }
}

int main(void) {
  static cl_uint image[kWidth * kHeight];
  cl_mem buffers[2];
  cl_int error;
  cl_uint sum = 0;
  for (cl_uint i = 0; i < kWidth * kHeight; ++i) image[i] = i * 2654435761u >> 8;

  find_functions(&cl, open_library("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), NULL);
  cl_program program = set_up();
  for (int i = 0; i < 2; ++i) {
    buffers[i] =
        cl.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof image, image, &error);
    check(error, "clCreateBuffer");
  }
  for (int pass = 0; pass < kPasses; ++pass) smooth(buffers[pass % 2], buffers[(pass + 1) % 2]);
  check(cl.clEnqueueReadBuffer(queue, buffers[kPasses % 2], CL_TRUE, 0, sizeof image, image, 0, NULL, NULL),
        "clEnqueueReadBuffer");
  for (int i = 0; i < kWidth * kHeight; ++i) sum = sum * 31 + image[i];
  printf("smoothed: %08x\n", sum);

  for (int i = 0; i < 2; ++i) check(cl.clReleaseMemObject(buffers[i]), "clReleaseMemObject");
  check(cl.clReleaseKernel(kernel), "clReleaseKernel");
  check(cl.clReleaseProgram(program), "clReleaseProgram");
  check(cl.clReleaseCommandQueue(queue), "clReleaseCommandQueue");
  check(cl.clReleaseContext(context), "clReleaseContext");
  return 0;
}
