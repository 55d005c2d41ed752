/* dlsym(RTLD_DEFAULT): what the whole program sees, here because it is linked with OpenCL. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "one_launch.h"

int main(void) {
  struct opencl opencl;
  find_functions(&opencl, RTLD_DEFAULT, NULL);
  run_one_launch(&opencl, "RTLD_DEFAULT");
  return 0;
}
