// Launches from the destructor of a static object, and from an exit handler that runs before it. The object's constructor
// launches too, so that everything that the driver creates on first use outlives it.
#include <cstdlib>

#include "one_launch.h"

namespace {

struct LaunchesAtExit {
  const kit::Api cl = linked_functions();
  LaunchesAtExit() { run_one_launch(cl, "static constructor"); }
  ~LaunchesAtExit() { run_one_launch(cl, "static destructor"); }
};

LaunchesAtExit last;

}  // namespace

int main() {
  run_one_launch(last.cl, "main");
  return std::atexit([] { run_one_launch(last.cl, "exit handler"); });
}
