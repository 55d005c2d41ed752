// Finds the real OpenCL loader below the drop-in, which has the same name.
#pragma once

#include <string>

#include "base/opencl.h"

namespace cleave::icd {

struct Loader {
  Table table{};     // null entries for functions that the library lacks; all null if none was found
  std::string path;  // for display; empty if none was found
};

// Whether a loaded loader may be used: false if it forwards its calls to this library, as tracers do.
using Acceptance = bool (*)(const Table& loader);

// Finds the loader that the program would have without Cleave, and loads it if it is not loaded:
//   - the file `named` (CLEAVE_NEXT) and no other, if it is not empty;
//   - an OpenCL implementation that is preloaded behind this library;
//   - what native_loader.h decides for the library or program that calls at this moment: a loader that is in the process,
//     if it `is_acceptable`, or the first one that is not Cleave where the dynamic linker would search: the folders of
//     linker_folders.h, with the linker's cache between them.
// Its symbols are not visible to the program. If there is none, prints a line on standard error unless it
// `may_be_absent`. Never throws.
Loader load_real_loader(const std::string& named, bool may_be_absent, Acceptance is_acceptable) noexcept;

}  // namespace cleave::icd
