/* Prints the results of clGetPlatformIDs, and of every other function that a program without platforms may call. */
#include <CL/cl.h>

#include <stdio.h>

int main(void) {
  cl_uint platforms = 77;
  cl_int error = clGetPlatformIDs(0, NULL, &platforms);
  printf("clGetPlatformIDs: %d\n", error);
  cl_context context = clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &error);
  printf("clCreateContextFromType: %s, %s\n", context == NULL ? "none" : "one",
         error == CL_SUCCESS ? "success" : "an error");
  printf("clGetExtensionFunctionAddress: %s\n",
         clGetExtensionFunctionAddress("clIcdGetPlatformIDsKHR") == NULL ? "none" : "one");
  return 0;
}
