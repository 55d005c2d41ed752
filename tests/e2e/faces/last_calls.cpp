// Launches from the destructor of a static object, and from an exit handler that runs before it. The object's
// constructor launches too, so that all that the driver makes on first use outlives it.
#include <cstdlib>

extern "C" {
#include "core.h"
}

namespace {

opencl functions() {
  opencl found{};
#define FIELD(name) found.name = name;
  FOR_EACH_FUNCTION(FIELD)
#undef FIELD
  return found;
}

struct LaunchesAtTheEnd {
  const opencl cl = functions();
  LaunchesAtTheEnd() { run_one_launch(&cl, "static constructor"); }
  ~LaunchesAtTheEnd() { run_one_launch(&cl, "static destructor"); }
};

LaunchesAtTheEnd last;

}  // namespace

int main() {
  run_one_launch(&last.cl, "main");
  return std::atexit([] { run_one_launch(&last.cl, "exit handler"); });
}
