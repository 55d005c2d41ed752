/* Closes the library and opens it again, repeatedly, with a launch each time. */
#include <dlfcn.h>

#include "one_launch.h"

int main(void) {
  for (int i = 0; i < 5; ++i) {
    void* library = open_library("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    struct opencl opencl;
    find_functions(&opencl, library, NULL);
    run_one_launch(&opencl, "opened again");
    if (dlclose(library) != 0) return 1;
  }
  return 0;
}
