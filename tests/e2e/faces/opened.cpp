// dlopen() of the name in the first argument, in the way that the second one may say:
//
//   deepbind    with RTLD_DEEPBIND
//   versioned   every symbol with the version that the system's loader gives it
//   global      dlsym(RTLD_DEFAULT) after RTLD_GLOBAL, as plug-ins do
//   again       closed and opened repeatedly, with a launch each time
//   elsewhere   the same, and each time something else takes the memory where the library was
#include <string_view>

#include <sys/mman.h>

#include "one_launch.h"

int main(int count, char** arguments) {
  const std::string_view way = count > 2 ? arguments[2] : "";
  const int flags = way == "versioned"  ? RTLD_LAZY
                    : way == "global"   ? RTLD_NOW | RTLD_GLOBAL
                    : way == "deepbind" ? RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND
                                        : RTLD_NOW | RTLD_LOCAL;
  const bool reopens = way == "again" || way == "elsewhere";
  for (int turns = reopens ? 5 : 1; turns > 0; --turns) {
    void* const library = open_library(arguments[1], flags);
    run_one_launch(
        functions_of(way == "global" ? RTLD_DEFAULT : library, way == "versioned" ? "OPENCL_1.0" : nullptr),
        "opened");
    if (reopens && dlclose(library) != 0) return 1;
    if (way == "elsewhere") mmap(nullptr, 64 << 10U, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  return 0;
}
