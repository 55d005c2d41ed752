// Driver bugs that matter only in some situations (interpose/drivers/quirks.h).
//
// Thread-safe.
#pragma once

#include <span>

#include "interpose/state/records.h"

namespace cleave::interpose {

// Whether slices on `queue` with that wait list could do what the whole launch cannot: end the process, or run after a
// failed command.
bool is_unsafe_now(const Table& next, const ObjectRecords& records, const QueueRecord& queue,
                   std::span<const cl_event> wait_list);

}  // namespace cleave::interpose
