// Uses OpenCL, starts itself again as a child, and that child does the same: three generations.
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "one_launch.h"

int main(int count, char** arguments) {
  const int generation = count > 1 ? std::atoi(arguments[1]) : 1;
  run_one_launch(linked_functions(), ("generation " + std::to_string(generation)).c_str());
  if (generation == 3) return 0;
  const std::string next = std::to_string(generation + 1);
  const int child = fork();
  if (child == 0) {
    execl("/proc/self/exe", arguments[0], next.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  return has_succeeded(child) ? 0 : 1;
}
