// Drivers whose functions must not run on two threads at a time (interpose::Quirks::needs_serial_calls). A worker has more
// threads than the program: some wait for its queues while another reads its messages.
//
// Thread-safe, once it is installed.
#pragma once

#include "base/opencl.h"

namespace cleave::remote::server {

// If a platform of `table` belongs to such a driver, replaces the entries by functions that take turns for that
// driver's handles, and pass on the others'. A call that would wait for a user event waits for it before its turn; a flush is
// deferred. Handles are told apart by their dispatch tables: a driver that shares one with others is left as it is. Behind
// Cleave's vendor library each driver has one of its own. To be called once, before any other thread calls; `table` must be
// complete.
void serialise_where_needed(Table& table);

}  // namespace cleave::remote::server
