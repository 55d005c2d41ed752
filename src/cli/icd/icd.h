// `cleave icd`: registers the vendor library (docs/vendor.md) in place of the vendors' drivers, and undoes that.
//
// The vendors' .icd files are moved to another folder, never copied, so that their contents, modes, owners, times and links
// stay as they are. plan.h describes the steps, and why they may be interrupted at any point.
#pragma once

#include <filesystem>

namespace cleave::cli {

struct IcdRequest {
  enum class Action { install, uninstall, status };
  Action action = Action::status;
  std::filesystem::path root = "/";                       // the root of the folders and the library
  std::filesystem::path vendors = "/etc/OpenCL/vendors";  // where loaders search
  std::filesystem::path wrapped;  // where the drivers are moved to; empty: `vendors` + ".cleave"
  std::filesystem::path library;  // the library to register; empty: this installation's
  bool dry = false;               // only print what would be done
  bool apply = false;             // make the changes even if the user is not root
};

// Prints what it does, or would do, on standard output. Returns the exit status: 0 on success, also if there is nothing to do;
// 1 on failure, with one line on standard error. For `status`: 0 if Cleave is in front of every driver, else 1.
int icd(const IcdRequest& request);

}  // namespace cleave::cli
