// Loads an OpenCL library and prints the name of its first platform. What the library's tests run in a
// process of its own.
#include <CL/cl_icd.h>

#include <cstdio>
#include <dlfcn.h>

namespace {

template <class Pointer>
Pointer symbol_of(void* library, const char* name) {
  return reinterpret_cast<Pointer>(::dlsym(library, name));
}

}  // namespace

int main(int count, char** arguments) {
  void* library = count == 2 ? ::dlopen(arguments[1], RTLD_NOW) : nullptr;
  if (library == nullptr) return 1;
  cl_platform_id platform = nullptr;
  char name[100] = "";
  const auto ids = symbol_of<decltype(cl_icd_dispatch::clGetPlatformIDs)>(library, "clGetPlatformIDs");
  const auto info = symbol_of<decltype(cl_icd_dispatch::clGetPlatformInfo)>(library, "clGetPlatformInfo");
  if (ids(1, &platform, nullptr) != CL_SUCCESS) return 2;
  if (info(platform, CL_PLATFORM_NAME, sizeof name, name, nullptr) != CL_SUCCESS) return 3;
  std::puts(name);
  return 0;
}
