// Where the dynamic linker searches for a library that an object in this process needs, or opens by its name.
#pragma once

#include <string>
#include <vector>

namespace cleave::icd {

struct LinkerFolders {
  std::vector<std::string> before_cache;  // run paths and LD_LIBRARY_PATH
  std::vector<std::string> after_cache;   // the system's
};

// The folders for the loaded object with this path (as the linker knows it; empty: the program), in order. glibc lists them
// without saying where the cache comes in between; the system's folders are recognised by those of this library, whose
// run path is its own folder. Thread-safe; takes the linker's lock. May throw std::bad_alloc.
LinkerFolders linker_folders(const std::string& object);

// The system's folders alone.
std::vector<std::string> system_folders();

// The sub-folders that glibc 2.33 and later searches before each of these folders, for libraries that are built for newer
// processors: "glibc-hwcaps/x86-64-v3" and so on, as far as this processor can run them, best first. (Those of older
// versions, such as "tls" and "haswell", are not among them, nor those of other architectures than x86-64.)
std::vector<std::string> processor_subfolders();

}  // namespace cleave::icd
