// Finds the real OpenCL loader below the drop-in, which has the same name.
#pragma once

#include <string>

#include "base/opencl.h"

namespace cleave::icd {

struct Loader {
  Table table{};     // null entries for functions that the library lacks; all null if none was found
  std::string path;  // for display; empty if none was found
};

// Finds the loader that the program would have without Cleave, and loads it if it is not loaded:
//   - the file `named` (CLEAVE_NEXT) and no other, if it is not empty;
//   - what native_loader.h decides for the library or program that calls at this moment: a loader that is in the process,
//     or the first one that is not Cleave where the dynamic linker would search: the folders of linker_folders.h, with the
//     linker's cache between them.
// None of its functions is called, and none of the table's is Cleave's, whatever the library depends on. Its symbols are not
// visible to the program. If there is none, prints a line on standard error unless it `may_be_absent`. Never throws.
Loader load_real_loader(const std::string& named, bool may_be_absent) noexcept;

}  // namespace cleave::icd
