// The dynamic linker's search path for a library that something in this process needs.
#pragma once

#include <string>
#include <vector>

namespace cleave::icd {

struct LinkerFolders {
  // Searched before the linker's cache: run paths and LD_LIBRARY_PATH. First those of each loaded object that needs
  // `library`, in load order, then the program's, which may open it by name.
  std::vector<std::string> before_cache;
  // Searched after it: the system's.
  std::vector<std::string> after_cache;
};

// Thread-safe; takes the dynamic linker's lock. May throw std::bad_alloc.
LinkerFolders linker_folders(const char* library);

}  // namespace cleave::icd
