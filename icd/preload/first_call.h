// The drop-in's way from nothing to a table: nothing is loaded and no setting is read before a program's
// first OpenCL call.
#pragma once

#include "base/opencl.h"

namespace cleave::icd {

// The table that the exported functions use now. Until the first call it is one whose functions do what
// first_call() says and then what was asked for. Thread-safe.
const Table& active_table();

// Finds and loads the real loader, puts Cleave on top of it and makes the result the active table, once;
// other threads wait meanwhile. Called again by the same thread within that (a driver or another library may
// call OpenCL while it is being loaded), it gives the loader's own table. Never fails: without a loader the
// table's functions answer with errors. Thread-safe.
const Table& first_call() noexcept;

}  // namespace cleave::icd
