// Linked with -lOpenCL: the ordinary program.
#include "one_launch.h"

int main() {
  run_one_launch(linked_functions(), "linked");
  return 0;
}
