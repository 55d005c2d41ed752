// Lazy initialisation of the drop-in: nothing is loaded and no setting is read before the program's first OpenCL call.
#pragma once

#include "base/opencl.h"

namespace cleave::icd {

// The table that the exported functions call through. Until the first call its functions initialise the drop-in with
// first_call() and then forward. Thread-safe.
const Table& active_table();

// Loads the real loader, installs the interposer above it and makes the result the active table, once; other threads wait
// meanwhile. A recursive call of the same thread (a library may call OpenCL while it is being loaded) returns the loader's
// own table. Without a loader the table's functions return errors. Thread-safe.
const Table& first_call() noexcept;

}  // namespace cleave::icd
