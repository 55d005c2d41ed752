// Whether a driver is up to slices at this moment, of one that at other moments is (interpose/drivers/quirks.h).
//
// Thread-safe.
#pragma once

#include <span>

#include "interpose/state/records.h"

namespace cleave::interpose {

class Interposer;

// Whether slices on `queue` with that wait list could do what the whole launch cannot: end the process, or
// run behind what has failed.
bool is_unsafe_now(const Interposer& interposer, const QueueRecord& queue,
                   std::span<const cl_event> wait_list);

}  // namespace cleave::interpose
