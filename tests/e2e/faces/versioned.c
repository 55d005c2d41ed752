/* dlvsym(): every symbol with the version that the system's loader gives it. */
#include <dlfcn.h>

#include "one_launch.h"

int main(void) {
  struct opencl opencl;
  find_functions(&opencl, open_library("libOpenCL.so.1", RTLD_LAZY), "OPENCL_1.0");
  run_one_launch(&opencl, "versioned");
  return 0;
}
