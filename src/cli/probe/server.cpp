#include "cli/probe/opencl_library.h"
#include "cli/probe/probe.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

constexpr std::size_t kMaxTextSize = std::size_t{1} << 20U;

}  // namespace

int probe_server(const std::string& address) {
  const RecordWriter writer;
  try {
    const Installation cleave = find_installation();
    const OpenClLibrary client((cleave.layer.parent_path() / "libcleave-remote.so").string());
    using Describe = cl_int (*)(const char*, size_t, char*);
    const auto describe = reinterpret_cast<Describe>(
        CLEAVE_CLI_FIND(client, clGetExtensionFunctionAddress)("clDescribeServerCLEAVE"));
    if (describe == nullptr) throw ProbeError("libcleave-remote.so is of another version");
    std::string text(kMaxTextSize, '\0');
    require(describe(address.c_str(), text.size(), text.data()), "clDescribeServerCLEAVE");
    text.resize(text.find('\0'));
    for (const Record& record : decode(text)) writer.write(record);
  } catch (const ProbeError& error) {
    writer.write({"problem", error.what()});
  }
  return 0;
}

}  // namespace cleave::cli
