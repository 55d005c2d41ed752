#include <array>

#include "cleave/cleave.h"
#include "cli/probe/opencl_library.h"
#include "cli/probe/probe.h"

namespace cleave::cli {
namespace {

// Null-terminated; long texts are truncated.
using Text = std::array<char, 256>;

Text platform_text(const OpenClLibrary& library, cl_platform_id platform, cl_uint name) {
  Text text{};
  CLEAVE_CLI_FIND(library, clGetPlatformInfo)(platform, name, text.size() - 1, text.data(), nullptr);
  return text;
}

// Null: the vendor library is not in front of this platform. By platform, since loaders forward the name only then.
clGetCleaveInfo_fn info_behind(const OpenClLibrary& library, cl_platform_id platform) {
  auto* const address_of = CLEAVE_CLI_FIND(library, clGetExtensionFunctionAddressForPlatform);
  return reinterpret_cast<clGetCleaveInfo_fn>(address_of(platform, CL_CLEAVE_GET_INFO_NAME));
}

Text version_of(clGetCleaveInfo_fn info) {
  Text version{};
  info(nullptr, CL_CLEAVE_VERSION, version.size() - 1, version.data(), nullptr);
  return version;
}

}  // namespace

int probe_vendor(const std::string& loader) {
  run_probe_and_exit([&](const RecordWriter& writer) {
    const OpenClLibrary library(loader);
    bool version_written = false;
    for (cl_platform_id platform : platforms_of(library)) {
      const Text name = platform_text(library, platform, CL_PLATFORM_NAME);
      const clGetCleaveInfo_fn info = info_behind(library, platform);
      const bool ours = info != nullptr;
      if (ours && !version_written) writer.write({"version", version_of(info).data()});
      version_written = version_written || ours;
      writer.write({ours ? "wrapped" : "beside", name.data()});
    }
  });
}

}  // namespace cleave::cli
