/* Linked with -lOpenCL: the ordinary program. */
#include "one_launch.h"

int main(void) {
  const struct opencl opencl = LINKED_OPENCL;
  run_one_launch(&opencl, "linked");
  return 0;
}
