// Data that passes through a ring of slots in shared memory (messages.fbs: Ring), slice by slice: while the driver copies
// one slice from or to its slot, the client handles the next, and nothing is copied here.
//
// The slots' words tell the client which slots it may use again; the driver's events tell when. The client names the next
// slot in a byte of the payload, and the reading thread waits for that byte as it waits for any payload, never for the
// device: the client can always go on to what the device may be waiting for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "remote/server/session/enqueue.h"

namespace cleave::remote::server {

// Enqueues the driver's copy of `size` bytes at offset `at` of a transfer, from or to `memory`. The first slice of a
// transfer has the command's wait list.
using CopySlice = std::function<cl_int(std::byte* memory, std::uint64_t at, std::uint64_t size,
                                       const Enqueue& to, cl_event* event)>;

void write_through_ring(SessionContext& session, const wire::Command& command, const Enqueue& to,
                        std::uint64_t size, const CopySlice& copy);
void read_through_ring(SessionContext& session, const wire::Command& command, const Enqueue& to,
                       std::uint64_t size, const CopySlice& copy);

// Returns the slots of a command that was not, or only partly, executed: the client may be waiting for one.
void return_ring_slots(SessionContext& session, const wire::Command& command);

}  // namespace cleave::remote::server
