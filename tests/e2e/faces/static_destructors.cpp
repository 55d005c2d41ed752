// Launches from the destructor of a static object, and from an exit handler that runs before it. The object's constructor
// launches too, so that everything that the driver creates on first use outlives it.
#include <cstdlib>

extern "C" {
#include "one_launch.h"
}

namespace {

opencl functions() {
  opencl found{};
#define FIELD(name) found.name = name;
  FOR_EACH_FUNCTION(FIELD)
#undef FIELD
  return found;
}

struct LaunchesAtExit {
  const opencl cl = functions();
  LaunchesAtExit() { run_one_launch(&cl, "static constructor"); }
  ~LaunchesAtExit() { run_one_launch(&cl, "static destructor"); }
};

LaunchesAtExit last;

}  // namespace

int main() {
  run_one_launch(&last.cl, "main");
  return std::atexit([] { run_one_launch(&last.cl, "exit handler"); });
}
