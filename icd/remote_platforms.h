// The remote platforms, for faces that lie above a loader: the client's library is a driver that the loader
// does not know, so the face adds its platforms to the loader's list, behind the others. All other calls find
// their way by themselves, since a loader hands each on by its handle.
#pragma once

#include <string>

#include "base/opencl.h"
#include "base/settings.h"

namespace cleave::icd {

// Whether the user has named servers, and so something is to be added.
bool wants_remote(const base::Settings& settings);

// Adds the remote platforms to what `next` answers to clGetPlatformIDs, and lets them stand in where no
// platform is named and there is no other: in clGetDeviceIDs and clCreateContextFromType. Without a loader
// `next` becomes the client's own table. Meets no server: that is the first question for platforms. What goes
// wrong is one line on standard error. Called once, before calls go through `next`.
void add_remote_platforms(Table& next, const base::Settings& settings, bool has_loader) noexcept;

// Where the client's library is, by the place of this one; empty if it is nowhere.
std::string remote_library_path();

}  // namespace cleave::icd
