// Finds the real OpenCL loader below the drop-in, which has the same name.
#pragma once

#include <string>

#include "base/opencl.h"

namespace cleave::icd {

struct Loader {
  Table table{};     // null entries for functions that the library lacks; all null if none was found
  std::string path;  // for display; empty if none was found
};

// Loads the first libOpenCL.so.1 that is not Cleave, as the dynamic linker would search:
//   - the file `named` (CLEAVE_NEXT) and no other, if it is not empty;
//   - an OpenCL implementation that is preloaded behind this library;
//   - the folders of linker_folders.h, with the linker's cache between them.
// Its symbols are not visible to the program. If there is none, prints a line on standard error unless it
// `may_be_absent`. Never throws.
Loader load_real_loader(const std::string& named, bool may_be_absent = false) noexcept;

}  // namespace cleave::icd
