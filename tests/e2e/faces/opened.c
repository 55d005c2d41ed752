/* dlopen() of the name in the first argument, with RTLD_DEEPBIND if a second one says "deepbind". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "one_launch.h"

int main(int count, char** arguments) {
  const int deep = count > 2 && strcmp(arguments[2], "deepbind") == 0 ? RTLD_DEEPBIND : 0;
  struct opencl opencl;
  find_functions(&opencl, open_library(arguments[1], RTLD_NOW | RTLD_LOCAL | deep), NULL);
  run_one_launch(&opencl, "opened");
  return 0;
}
