// Reads the registry of processes under Cleave (include/cleave/registry.h). The files are other users' and not trusted.
//
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "cleave/registry.h"

namespace cleave::neighbours {

struct LiveEntry {
  std::string file;  // its name
  uid_t user = 0;    // the owner, which cannot be forged
  cleave_registry_entry entry;
};

// The most files of one user that a scan opens, so that no user can hide other users' entries behind his own. All names in the
// folder are counted, so that their number hides none either; a scan that takes long is repeated less often (PeersSource).
constexpr std::size_t kMaxEntriesOfUser = CLEAVE_REGISTRY_MAX_ENTRIES;

// The valid entries of live processes, except the one in the file `own`. Empty if there is no such folder.
std::vector<LiveEntry> live_entries(const std::string& folder, const std::string& own = {});

// Deletes the files of dead processes of this process's user, or of all for root. Examines no more than a few thousand
// names, since a program waits for it.
void remove_dead_entries(int folder);

}  // namespace cleave::neighbours
