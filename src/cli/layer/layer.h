// `cleave layer`: registers Cleave's layer for programs that are not started with `cleave run` (docs/layer.md): for the whole
// machine in a .lay file, which newer loaders read, or for one user in a variable of his sessions.
#pragma once

#include <chrono>
#include <filesystem>

namespace cleave::cli {

struct LayerRequest {
  enum class Action { install, uninstall, status };
  Action action = Action::status;
  bool user = false;                                    // for this user alone
  std::filesystem::path root = "/";                     // the root of the folder and the library
  std::filesystem::path layers = "/etc/OpenCL/layers";  // where loaders search
  std::filesystem::path library;                        // the layer to register; empty: this installation's
  bool dry = false;                                     // only print what would be done
  bool apply = false;                                   // make the changes even if the user is not root
};

// Prints what it does, or would do, on standard output. Returns the exit status: 0 on success, also if there is nothing to do;
// 1 on failure, with one line on standard error. For `status`: 0 if it is registered, else 1.
int layer(const LayerRequest& request);

}  // namespace cleave::cli
