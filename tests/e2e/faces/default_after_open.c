/* dlsym(RTLD_DEFAULT) after a dlopen() with RTLD_GLOBAL, as plug-ins do. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "one_launch.h"

int main(void) {
  struct opencl opencl;
  open_library("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL);
  find_functions(&opencl, RTLD_DEFAULT, NULL);
  run_one_launch(&opencl, "RTLD_DEFAULT after RTLD_GLOBAL");
  return 0;
}
