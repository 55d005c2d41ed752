// Which OpenCL loader the program would have without Cleave, decided from the loaded objects. Pure: the linker is not called.
//
// The drop-in has the loader's name, libOpenCL.so.1, so that the linker uses it for every object that needs that name, and a
// drop-in that is preloaded comes before every other definition of OpenCL's functions. Natively
//   - the functions come from the first object that defines them: of those that were loaded with the program (preloaded
//     ones, then what the program needs, breadth first), then of those that were opened together with the calling library;
//   - a library that is needed or opened by a name is a loaded one that has this name, else the linker
//     searches for it, along the run path of the first object that needs it.
// An object that is loaded counts as a loader if its DT_SONAME is a loader's or it is a driver, and it needs no loader itself:
// others that have the functions are taken for tracers, which pass calls on, and are skipped. A loaded object counts as having a name
// only if it was there before the first library that needs the name: when the program opened the name is unknown.
//
// Source: the ELF specification (gABI, "Dynamic Linking"), and ld.so(8).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "icd/preload/loaded_objects.h"

namespace cleave::icd {

struct NativeLoader {
  // A search of the linker's, for a library that the object `importer` needs or opens.
  struct Search {
    std::string name;
    std::size_t importer;
    bool operator==(const Search&) const = default;
  };

  std::optional<std::size_t> loaded;  // this object is the loader
  std::vector<Search> searches;       // else, or if that one will not do: the first that finds one
};

// `objects` has the program, and whatever else is loaded, in the order of loading. `caller`: the object that calls OpenCL, if it
// is known.
NativeLoader native_loader(const std::vector<LoadedObject>& objects, std::optional<std::size_t> caller);

}  // namespace cleave::icd
