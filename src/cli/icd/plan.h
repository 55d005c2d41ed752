// What `cleave icd install` and `cleave icd uninstall` do, step by step.
//
//   install     make the folder's draft, with the record of times and cleave.icd in it
//               give it its name                                        from here on there is a record
//               move cleave.icd to the loaders' folder                  from here on programs find Cleave
//               move each driver's .icd file to Cleave's folder
//   uninstall   move each driver's .icd file back
//               move cleave.icd out of the loaders' folder, set back its time
//               give Cleave's folder its draft's name, remove it, set back its parent's time
//
// So whatever comes in between (a kill, a power cut), a program that starts then finds each driver once, as
// it is or through Cleave, and either command goes on from there: `install` to the end, `uninstall` back to
// how all was. Only the time of the folder that holds both is lost if the very step that makes or removes a
// folder there was the last.
#pragma once

#include <string>

#include "cli/icd/folders.h"
#include "cli/icd/steps.h"

namespace cleave::cli {

// Empty where there is nothing to do. Throw IcdError, before anything is changed.
IcdSteps plan_install(const IcdPaths& places, const std::string& library);
IcdSteps plan_uninstall(const IcdPaths& places);

}  // namespace cleave::cli
