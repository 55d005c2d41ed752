// Driver bugs that matter only in some situations (interpose/drivers/quirks.h).
//
// Thread-safe.
#pragma once

#include <optional>
#include <span>

#include "interpose/state/records.h"

namespace cleave::interpose {

// The bug by which slices on `queue` with that wait list could do what the whole launch cannot: end the process, or run
// after a failed command. Empty if there is none.
std::optional<plan::UnsplitReason> driver_hazard(const Table& next, const ObjectRecords& records,
                                                 const QueueRecord& queue,
                                                 std::span<const cl_event> wait_list);

}  // namespace cleave::interpose
