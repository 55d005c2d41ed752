// The drivers as a shared library.
#include <CL/cl_icd.h>

#include <cstdio>
#include <dlfcn.h>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::sim {
namespace {

std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
  ::pclose(pipe);
  return output;
}

template <class Type>
Type symbol_of(void* library, const char* name) {
  return reinterpret_cast<Type>(::dlsym(library, name));
}

TEST(Library, ExportsEveryListedFunction) {
  void* library = ::dlopen(SIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
#define CL_FUNCTION(version, name, ...) EXPECT_NE(::dlsym(library, #name), nullptr) << #name;
#include "opencl/functions.def"
#undef CL_FUNCTION
  EXPECT_NE(::dlsym(library, "clIcdGetPlatformIDsKHR"), nullptr);
}

TEST(Library, WorksAsALoaderAndAsAnIcd) {
  void* library = ::dlopen(SIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto find = symbol_of<decltype(cl_icd_dispatch::clGetExtensionFunctionAddress)>(
      library, "clGetExtensionFunctionAddress");
  const auto ids = reinterpret_cast<clIcdGetPlatformIDsKHR_fn>(find("clIcdGetPlatformIDsKHR"));
  ASSERT_NE(ids, nullptr);
  cl_platform_id from_icd = nullptr;
  cl_platform_id from_loader = nullptr;
  EXPECT_EQ(ids(1, &from_icd, nullptr), CL_SUCCESS);
  EXPECT_EQ(symbol_of<decltype(cl_icd_dispatch::clGetPlatformIDs)>(library, "clGetPlatformIDs")(
                1, &from_loader, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(from_icd, from_loader);
}

TEST(Library, WritesItsLogAtExit) {
  const kit::TemporaryFolder folder;
  const std::string log = folder.file("log");
  const std::string run = "CLEAVE_SIM_LOG=" + log + " " + SIM_CALLER + " " + SIM_LIBRARY;
  EXPECT_EQ(output_of(run), "Cleave simulated platform\n");
  EXPECT_THAT(kit::file_contents(log), testing::HasSubstr("clGetPlatformIDs(1, ptr, null) = CL_SUCCESS\n"));
  EXPECT_EQ(output_of("CLEAVE_SIM=zero " SIM_CALLER " " SIM_LIBRARY), "Cleave zero-cost platform\n");
}

}  // namespace
}  // namespace cleave::sim
