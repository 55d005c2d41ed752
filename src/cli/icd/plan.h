// The steps of `cleave icd install` and `cleave icd uninstall`.
//
//   install     create Cleave's folder under its draft's name, with the record of times and cleave.icd in it
//               rename it                                               from here on there is a record
//               move cleave.icd to the loaders' folder                  from here on programs find Cleave
//               move each driver's .icd file to Cleave's folder
//   uninstall   move each driver's .icd file back
//               move cleave.icd out of the loaders' folder, restore its time
//               rename Cleave's folder to its draft's name, remove it, restore its parent's time
//
// So after an interruption at any point (a kill, a power cut), programs find each driver exactly once, directly or through
// Cleave, and either command can continue: `install` to the end, `uninstall` back to the initial state. Only the time of the
// parent folder is lost if the last step was the one that created or removed a folder in it.
#pragma once

#include <string>

#include "cli/icd/folders.h"
#include "cli/icd/steps.h"

namespace cleave::cli {

// Empty if there is nothing to do. Throw IcdError, before anything is changed.
IcdSteps plan_install(const IcdPaths& places, const std::string& library);
IcdSteps plan_uninstall(const IcdPaths& places);

}  // namespace cleave::cli
