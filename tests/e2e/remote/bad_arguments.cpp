// Calls OpenCL's functions with arguments of which one or two are wrong, and prints what each call returns and writes: a native
// run and one through a server print the same.
//
// The calls are generated: each function is listed once with arguments that are right, and every parameter is then replaced
// by each value of a list for its type, alone, and by null or zero in pairs. A case that is named on a line of the file SKIP
// (a shell pattern) is left out: some drivers crash, and say so by crashing.
//
//   bad_arguments [SKIP]
#include "bad_arguments.h"

#include <CL/cl.h>

#include <cstdio>
#include <fnmatch.h>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace bad {
namespace {

std::vector<std::string> skipped;

bool is_skipped(const std::string& name) {
  for (const std::string& pattern : skipped) {
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

}  // namespace

void run_case(const std::string& name, const std::function<std::string()>& call) {
  if (is_skipped(name)) return;
  std::printf("%s: ", name.c_str());
  std::fflush(stdout);  // the last line names the case in which a driver crashes
  std::printf("%s\n", call().c_str());
}

}  // namespace bad

int main(int count, char** arguments) {
  if (count > 1) {
    std::ifstream file(arguments[1]);
    for (std::string line; std::getline(file, line);) bad::skipped.push_back(line);
  }
  std::setvbuf(stdout, nullptr, _IOFBF, 1U << 16U);
  bad::Rig rig;
  bad::call_commands(rig);
  bad::call_objects(rig);
  bad::call_queries(rig);
  return 0;
}
