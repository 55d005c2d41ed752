#include "platform.h"

#include <string>

namespace fuzz {

namespace {

cl_platform_id named(const std::string& part) {
  for (const cl_platform_id platform : cl.platforms())
    if (cl.text(platform, CL_PLATFORM_NAME).find(part) != std::string::npos) return platform;
  give_up("no platform is named " + part);
}

bool builds(const Platform& platform, const std::string& text, const std::string& options) {
  return cl.build(cl.program(platform.contexts[0], text), options.c_str()) == CL_SUCCESS;
}

Capabilities probe(const Platform& platform, const Options& options) {
  const std::set<std::string>& without = options.without;
  Capabilities capabilities;
  for (const std::string standard : {"-cl-std=CL3.0", "-cl-std=CL2.0", ""}) {
    capabilities.standard = standard;
    if (builds(platform, "kernel void k(global uint* out) { out[get_global_id(0)] = 0u; }\n", standard))
      break;
  }
  capabilities.linear_ids = builds(platform,
                                   "kernel void k(global uint* out) {\n  out[get_global_linear_id()] = "
                                   "(uint)(get_enqueued_local_size(0) + get_group_linear_id());\n}\n",
                                   capabilities.standard);
  cl_bool uneven = CL_FALSE;
  clGetDeviceInfo(platform.device, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, sizeof uneven, &uneven, nullptr);
  const auto up_to = [&without](const char* what) { return without.count(what) == 0; };
  capabilities.uneven = uneven == CL_TRUE && up_to("uneven");
  capabilities.libraries = up_to("libraries");
  capabilities.callbacks = up_to("callbacks");
  capabilities.user_events = up_to("user-events");
  // Loaders do not check that a driver has the function.
  capabilities.clones = cl.text(platform.device, CL_DEVICE_VERSION) >= "OpenCL 2.1" && up_to("clones");
  capabilities.communication = up_to("communication");
  const std::string extensions = cl.text(platform.device, CL_DEVICE_EXTENSIONS);
  capabilities.known_local_sizes =
      options.known_local_sizes || extensions.find("cl_khr_suggested_local_work_size") != std::string::npos;
  return capabilities;
}

}  // namespace

Platform find_platform(const Options& options) {
  Platform platform;
  const std::vector<cl_device_id> devices = cl.devices(named(options.platform));
  if (devices.empty()) give_up("no device");
  platform.device = devices.front();
  for (Context& context : platform.contexts) context = cl.context(platform.device);
  platform.most_local = cl.info<std::size_t>(platform.device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  platform.capabilities = probe(platform, options);
  return platform;
}

}  // namespace fuzz
