// Adds the remote client's platforms to a loader's, for faces above a loader: the client's library is a driver that the
// loader does not know. Calls with the client's handles need no help, since loaders dispatch by handle.
#pragma once

#include <string>

#include "base/opencl.h"
#include "base/settings/settings.h"

namespace cleave::icd {

// Whether the settings name servers.
bool wants_remote(const base::Settings& settings);

// Changes `next` so that clGetPlatformIDs returns the remote platforms, too, and that calls without a platform use them if
// there is no other, or if remote.prefer puts them first. Without a loader, `next` becomes the client's own table. Does not
// connect to servers: the first query for platforms does. Problems are reported in one line on standard error. Called once,
// before calls go through `next`.
void add_remote_platforms(Table& next, const base::Settings& settings, bool has_loader) noexcept;

// The path of the client's library, relative to this one; empty if it does not exist.
std::string remote_library_path();

}  // namespace cleave::icd
