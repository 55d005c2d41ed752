// Words in shared memory, one for each slot of a ring (messages.fbs: Ring), that show who may use the slot: the client or the
// server.
//
// Thread-safe. The other process may write anything to a word at any time; that harms only its own transfers.
#pragma once

#include <cstdint>

#include "remote/transport/stream.h"

namespace cleave::remote {

// The client passes the slot to the server. The following message announces that to the server.
void give_slot(std::uint32_t& word);

// The server returns the slot, and wakes a client that waits for it.
void return_slot(std::uint32_t& word);

bool is_returned(std::uint32_t& word);

// Waits for the slot. False: it has not been returned before `until`.
bool wait_for_slot(std::uint32_t& word, Time until);

}  // namespace cleave::remote
