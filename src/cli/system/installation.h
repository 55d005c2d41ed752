// The files of this Cleave installation, relative to the running command, so that a build folder, a prefix and a moved copy
// all work.
#pragma once

#include <filesystem>
#include <vector>

namespace cleave::cli {

struct Installation {
  std::filesystem::path command;         // this executable
  std::filesystem::path drop_in_folder;  // goes into LD_LIBRARY_PATH
  std::filesystem::path drop_in;         // SONAME libOpenCL.so.1
  std::filesystem::path stub;            // SONAME libOpenCL.so, for programs that dlopen the unversioned name
  std::filesystem::path layer;           // for OPENCL_LAYERS
  std::filesystem::path vendor;          // for an .icd file

  // The missing libraries of those that `cleave run` needs.
  std::vector<std::filesystem::path> missing() const;

  // LD_PRELOAD is split at spaces and colons, with no way to escape one.
  bool can_preload() const;

  // LD_LIBRARY_PATH and OPENCL_LAYERS are split at colons, the former at semicolons too.
  bool can_be_in_library_path() const;
  bool can_be_in_layers() const;
};

// The installation that the running command belongs to.
Installation find_installation();

}  // namespace cleave::cli
