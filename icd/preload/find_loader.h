// Finds the real OpenCL loader below the drop-in, which bears the same name.
#pragma once

#include <string>

#include "base/opencl.h"

namespace cleave::icd {

struct Loader {
  Table table{};     // entries that the library lacks are null; all are if none was found
  std::string path;  // for people; empty if none was found
};

// Looks where the dynamic linker would have looked, and takes the first libOpenCL.so.1 that is no Cleave: the
// file `named` (the setting CLEAVE_NEXT), and only that if it is not empty; then an OpenCL implementation
// that is preloaded behind this library; then the folders of linker_folders.h, with the linker's cache
// between them. What it loads it loads privately: its symbols are seen by nobody else. If there is nothing,
// says so on standard error, unless it `may_be_absent`. Never throws.
Loader load_real_loader(const std::string& named, bool may_be_absent = false) noexcept;

}  // namespace cleave::icd
