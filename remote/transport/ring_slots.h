// Words in memory that client and server share, one for each slot of a ring (messages.fbs: Ring): whose the
// slot is.
//
// Thread-safe. The other process may write anything there at any time; it deceives nobody but itself.
#pragma once

#include <cstdint>

#include "remote/transport/stream.h"

namespace cleave::remote {

// The client gives the slot to the server: what comes next tells the server so.
void give_slot(std::uint32_t& word);

// The server gives it back, and wakes who waits for that.
void return_slot(std::uint32_t& word);

bool is_returned(std::uint32_t& word);

// Waits; false: it has not come back until then.
bool wait_for_slot(std::uint32_t& word, Time until);

}  // namespace cleave::remote
