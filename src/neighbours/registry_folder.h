// Reads the registry of processes under Cleave (include/cleave/registry.h). The files are other users' and not trusted.
//
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "cleave/registry.h"

namespace cleave::neighbours {

// Opens the folder; -1 if there is none, or a symbolic link in its place. The caller closes the descriptor.
int open_registry(const std::string& folder);

struct LiveEntry {
  std::string file;  // its name
  cleave_registry_entry entry;
};

// The valid entries of live processes, except the one in the file `own`. Empty if there is no such folder.
std::vector<LiveEntry> live_entries(const std::string& folder, const std::string& own = {});

// Deletes the files of dead processes, as far as this process has the right to.
void remove_dead_entries(int folder);

}  // namespace cleave::neighbours
