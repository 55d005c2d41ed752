// Reading the registry of the processes under Cleave (include/cleave/registry.h says what it is). Other
// people's files: nothing in them is believed.
//
// Thread-safe: plain functions of what is on disk.
#pragma once

#include <string>
#include <vector>

#include "cleave/registry.h"

namespace cleave::neighbours {

// The folder, to look into; -1 where there is none. A link in its place is none. The caller closes it.
int open_registry(const std::string& folder);

// The entries of living processes, but for the one in the file `own`.
std::vector<cleave_registry_entry> live_entries(const std::string& folder, const std::string& own);

// Deletes the files of processes that are gone, as far as this process may.
void remove_dead_entries(int folder);

}  // namespace cleave::neighbours
