#include <array>
#include <cstring>

#include "cleave/cleave.h"
#include "cli/probe/opencl_library.h"
#include "cli/probe/probe.h"

namespace cleave::cli {
namespace {

constexpr cl_uint kIcdSuffix = 0x0920;  // CL_PLATFORM_ICD_SUFFIX_KHR

// Null-terminated; long texts are truncated.
using Text = std::array<char, 256>;

Text platform_text(const OpenClLibrary& library, cl_platform_id platform, cl_uint name) {
  Text text{};
  CLEAVE_CLI_FIND(library, clGetPlatformInfo)(platform, name, text.size() - 1, text.data(), nullptr);
  return text;
}

// By platform, since loaders forward the name only then.
Text version_behind(const OpenClLibrary& library, cl_platform_id platform) {
  auto* const address_of = CLEAVE_CLI_FIND(library, clGetExtensionFunctionAddressForPlatform);
  const auto info = reinterpret_cast<clGetCleaveInfo_fn>(address_of(platform, CL_CLEAVE_GET_INFO_NAME));
  Text version{};
  if (info != nullptr) info(nullptr, CL_CLEAVE_VERSION, version.size() - 1, version.data(), nullptr);
  return version;
}

}  // namespace

int probe_vendor(const std::string& loader) {
  run_probe_and_exit([&](const RecordWriter& writer) {
    const OpenClLibrary library(loader);
    bool version_written = false;
    for (cl_platform_id platform : platforms_of(library)) {
      const Text name = platform_text(library, platform, CL_PLATFORM_NAME);
      const bool ours = std::strcmp(platform_text(library, platform, kIcdSuffix).data(), "CLEAVE") == 0;
      if (ours && !version_written) writer.write({"version", version_behind(library, platform).data()});
      version_written = version_written || ours;
      writer.write({ours ? "wrapped" : "beside", name.data()});
    }
  });
}

}  // namespace cleave::cli
