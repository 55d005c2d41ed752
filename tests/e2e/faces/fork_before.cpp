// Forks before the first use of OpenCL; parent and child then launch.
#include <cstdlib>
#include <unistd.h>

#include "one_launch.h"

int main() {
  const int child = fork();
  if (child == 0) {
    run_one_launch(linked_functions(), "child");
    std::exit(0);
  }
  if (!has_succeeded(child)) return 1;
  run_one_launch(linked_functions(), "parent");
  return 0;
}
