// The folders in which the dynamic linker looks for a library that somebody in this process needs.
#pragma once

#include <string>
#include <vector>

namespace cleave::icd {

struct LinkerFolders {
  // Those that come before the linker's cache: run paths, and LD_LIBRARY_PATH. First those of each loaded
  // object that needs `library`, in the order in which they were loaded, then those of the program, which may
  // open it by name.
  std::vector<std::string> before_cache;
  // The system's own, which come after it.
  std::vector<std::string> after_cache;
};

// Takes the linker's lock for a moment; otherwise thread-safe. May throw std::bad_alloc.
LinkerFolders linker_folders(const char* library);

}  // namespace cleave::icd
