/* dlsym(RTLD_NEXT) from the program itself: the first library that it is linked with. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "one_launch.h"

int main(void) {
  struct opencl opencl;
  find_functions(&opencl, RTLD_NEXT, NULL);
  run_one_launch(&opencl, "RTLD_NEXT");
  return 0;
}
