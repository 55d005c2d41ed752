#include "cli/system/installation.h"

#include <string>
#include <system_error>

namespace cleave::cli {
namespace {

namespace fs = std::filesystem;

Installation installed_below(const fs::path& command, const fs::path& libraries) {
  Installation installation;
  installation.command = command;
  installation.drop_in_folder = libraries / "cleave";
  installation.drop_in = installation.drop_in_folder / "libOpenCL.so.1";
  installation.stub = installation.drop_in_folder / "libOpenCL.so";
  // Distributions keep libraries that no program is linked against in a separate folder (CLEAVE_FACES_DIR).
  std::error_code ignored;
  const bool is_private = fs::exists(installation.drop_in_folder / "libcleave-layer.so", ignored);
  const fs::path faces = is_private ? installation.drop_in_folder : libraries;
  installation.layer = faces / "libcleave-layer.so";
  installation.vendor = faces / "libcleave-icd.so";
  return installation;
}

bool free_of(const fs::path& path, const char* characters) {
  return path.native().find_first_of(characters) == std::string::npos;
}

}  // namespace

std::vector<fs::path> Installation::missing() const {
  std::vector<fs::path> absent;
  for (const fs::path& library : {drop_in, stub, layer}) {
    std::error_code ignored;
    if (!fs::exists(library, ignored)) absent.push_back(library);
  }
  return absent;
}

bool Installation::can_preload() const { return free_of(drop_in, " :"); }
bool Installation::can_be_in_library_path() const { return free_of(drop_in_folder, ":;"); }
bool Installation::can_be_in_layers() const { return free_of(layer, ":"); }

Installation find_installation() {
  const fs::path command = fs::read_symlink("/proc/self/exe");
  // First as installed, then as in a build folder, whose libraries are always in lib.
  const Installation installed =
      installed_below(command, (command.parent_path() / CLEAVE_LIBDIR_FROM_BIN).lexically_normal());
  const Installation plain = installed_below(command, (command.parent_path() / "../lib").lexically_normal());
  std::error_code ignored;
  const bool only_plain =
      !fs::exists(installed.drop_in_folder, ignored) && fs::exists(plain.drop_in_folder, ignored);
  return only_plain ? plain : installed;
}

}  // namespace cleave::cli
