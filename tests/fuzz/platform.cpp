#include "platform.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace fuzz {

namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "cleave_fuzz: %s\n", why.c_str());
  std::exit(2);
}

cl_platform_id named(const std::string& part) {
  cl_platform_id platforms[16] = {};
  cl_uint count = 0;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) give_up("no platform");
  for (cl_uint place = 0; place < std::min<cl_uint>(count, 16); ++place) {
    char name[256] = {};
    clGetPlatformInfo(platforms[place], CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
    if (std::string(name).find(part) != std::string::npos) return platforms[place];
  }
  give_up("no platform is named " + part);
}

bool builds(const Platform& platform, const std::string& text, const std::string& options) {
  const char* string = text.c_str();
  cl_int status = CL_SUCCESS;
  const Program program(clCreateProgramWithSource(platform.contexts[0].get(), 1, &string, nullptr, &status));
  return clBuildProgram(program.get(), 1, &platform.device, options.c_str(), nullptr, nullptr) == CL_SUCCESS;
}

bool has_extension(cl_device_id device, const std::string& name) {
  std::size_t size = 0;
  clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, nullptr, &size);
  std::string names(size, ' ');
  clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, names.data(), nullptr);
  return names.find(name) != std::string::npos;
}

Dialect probe(const Platform& platform, const std::set<std::string>& without) {
  Dialect dialect;
  for (const std::string standard : {"-cl-std=CL3.0", "-cl-std=CL2.0", ""}) {
    dialect.standard = standard;
    if (builds(platform, "kernel void k(global uint* out) { out[get_global_id(0)] = 0u; }\n", standard))
      break;
  }
  dialect.linear_ids = builds(platform,
                              "kernel void k(global uint* out) {\n  out[get_global_linear_id()] = "
                              "(uint)(get_enqueued_local_size(0) + get_group_linear_id());\n}\n",
                              dialect.standard);
  cl_bool uneven = CL_FALSE;
  clGetDeviceInfo(platform.device, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, sizeof uneven, &uneven, nullptr);
  const auto up_to = [&without](const char* what) { return without.count(what) == 0; };
  dialect.uneven = uneven == CL_TRUE && up_to("uneven");
  dialect.libraries = up_to("libraries");
  dialect.callbacks = up_to("callbacks");
  dialect.user_events = up_to("user-events");
  // Loaders do not check that a driver has the function.
  char version[64] = {};
  clGetDeviceInfo(platform.device, CL_DEVICE_VERSION, sizeof version - 1, version, nullptr);
  dialect.clones = std::string(version) >= "OpenCL 2.1" && up_to("clones");
  dialect.talk = up_to("talk");
  dialect.suggests = has_extension(platform.device, "cl_khr_suggested_local_work_size");
  return dialect;
}

}  // namespace

Platform find_platform(const Options& options) {
  Platform platform;
  const cl_platform_id id = named(options.platform);
  if (clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 1, &platform.device, nullptr) != CL_SUCCESS)
    give_up("no device");
  for (Context& context : platform.contexts) {
    cl_int status = CL_SUCCESS;
    context = Context(clCreateContext(nullptr, 1, &platform.device, nullptr, nullptr, &status));
    if (status != CL_SUCCESS) give_up("no context: " + std::to_string(status));
  }
  clGetDeviceInfo(platform.device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof platform.most_local,
                  &platform.most_local, nullptr);
  platform.dialect = probe(platform, options.without);
  return platform;
}

}  // namespace fuzz
