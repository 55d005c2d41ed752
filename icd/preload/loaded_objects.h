// What the dynamic linker has loaded into this process: the program and its libraries, and their dependencies.
#pragma once

#include <cstddef>
#include <link.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::icd {

// A function that every OpenCL library defines.
inline constexpr const char* kEntryPoint = "clGetPlatformIDs";

struct ObjectFacts {
  ElfW(Addr) base = 0;  // what the linker adds to its addresses
  bool is_cleave = false;
  // Linked with -z nodefaultlib: the linker searches neither the default folders nor the cache's entries from them.
  bool skips_defaults = false;
  bool has_opencl = false;  // defines clGetPlatformIDs
  // Defines clIcdGetPlatformIDsKHR, as drivers do; loaders and tracers lack it.
  bool has_icd_entry = false;
};

struct LoadedObject : ObjectFacts {
  std::string path;                 // as the linker knows it; empty for the program itself
  std::string soname;               // DT_SONAME, or empty
  std::vector<std::string> needed;  // DT_NEEDED

  // Whether the linker takes this object for the library `name`, a path or a plain name.
  bool answers_to(std::string_view name) const;
};

// In the order in which they were loaded, the program first. Thread-safe; takes the linker's lock, and allocates nothing while
// it is held. May throw std::bad_alloc.
std::vector<LoadedObject> loaded_objects();

// The one that contains `address`.
std::optional<std::size_t> index_of(const std::vector<LoadedObject>& objects, const void* address);

}  // namespace cleave::icd
