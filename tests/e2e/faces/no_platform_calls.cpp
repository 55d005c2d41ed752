// Prints the results of clGetPlatformIDs, and of every other function that a program without platforms may call.
#include <CL/cl.h>

#include <cstdio>

int main() {
  cl_uint platforms = 77;
  cl_int error = clGetPlatformIDs(0, nullptr, &platforms);
  std::printf("clGetPlatformIDs: %d\n", error);
  cl_context context = clCreateContextFromType(nullptr, CL_DEVICE_TYPE_ALL, nullptr, nullptr, &error);
  std::printf("clCreateContextFromType: %s, %s\n", context == nullptr ? "none" : "one",
              error == CL_SUCCESS ? "success" : "an error");
  std::printf("clGetExtensionFunctionAddress: %s\n",
              clGetExtensionFunctionAddress("clIcdGetPlatformIDsKHR") == nullptr ? "none" : "one");
  return 0;
}
