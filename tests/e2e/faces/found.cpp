// dlsym() without a library. "default": RTLD_DEFAULT, what the whole program sees, here because it is linked with OpenCL;
// "next": RTLD_NEXT from the program itself, the first library that it is linked with.
#include <string_view>

#include "one_launch.h"

int main(int, char** arguments) {
  run_one_launch(functions_of(std::string_view(arguments[1]) == "next" ? RTLD_NEXT : RTLD_DEFAULT), "found");
  return 0;
}
