// `cleave icd`: registers the vendor library (docs/vendor.md) in place of the vendors' drivers, and undoes
// that.
//
// The vendors' .icd files are moved from one folder to another, never copied, so that all that is theirs
// stays: contents, modes, owners, times, links. What is changed, in which order, and why it may be
// interrupted anywhere: icd_plan.h.
#pragma once

#include <filesystem>

namespace cleave::cli {

struct IcdRequest {
  enum class Action { install, uninstall, status };
  Action action = Action::status;
  std::filesystem::path root = "/";                       // the folders and the library are below it
  std::filesystem::path vendors = "/etc/OpenCL/vendors";  // where loaders look
  std::filesystem::path wrapped;  // where the drivers go; empty: `vendors` with ".cleave" behind it
  std::filesystem::path library;  // what is registered; empty: the one of this installation
  bool dry = false;               // only say what would be done
  bool apply = false;             // do it also where the user is not root
};

// Prints what it does, or would do, on standard output. Returns the exit status: 0 where it is done, was
// done already, or would be done; 1 where it is refused or fails, which is one line on standard error. Of
// `status`: 0 where Cleave stands in front of every driver, else 1.
int icd(const IcdRequest& request);

}  // namespace cleave::cli
