// The drivers as a shared library.
#include <CL/cl_icd.h>

#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

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
  const auto find = symbol_of<cl_api_clGetExtensionFunctionAddress>(library, "clGetExtensionFunctionAddress");
  const auto ids = reinterpret_cast<clIcdGetPlatformIDsKHR_fn>(find("clIcdGetPlatformIDsKHR"));
  ASSERT_NE(ids, nullptr);
  cl_platform_id from_icd = nullptr;
  cl_platform_id from_loader = nullptr;
  EXPECT_EQ(ids(1, &from_icd, nullptr), CL_SUCCESS);
  EXPECT_EQ(symbol_of<cl_api_clGetPlatformIDs>(library, "clGetPlatformIDs")(1, &from_loader, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(from_icd, from_loader);
}

TEST(Library, WritesItsLogAtExit) {
  const std::string log = ::testing::TempDir() + "cleave-sim-log-" + std::to_string(::getpid());
  const std::string run = "CLEAVE_SIM_LOG=" + log + " " + SIM_CALLER + " " + SIM_LIBRARY;
  EXPECT_EQ(output_of(run), "Cleave simulated platform\n");
  std::ifstream file(log);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("clGetPlatformIDs(1, ptr, null) = CL_SUCCESS\n"), std::string::npos)
      << text.str();
  EXPECT_EQ(output_of("CLEAVE_SIM=zero " SIM_CALLER " " SIM_LIBRARY), "Cleave zero-cost platform\n");
  std::remove(log.c_str());
}

}  // namespace
}  // namespace cleave::sim
