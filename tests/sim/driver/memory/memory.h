// What buffers and images have in common: flags, storage, access from the host.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/sim/driver/core/call_frame.h"
#include "tests/sim/driver/core/objects.h"

namespace cleave::sim {

// Throws the error for flags that exclude each other.
void check_memory_flags(cl_mem_flags flags);

// A memory object of `size` bytes, zeroed or filled from the program's memory as the flags say.
std::shared_ptr<Memory> make_memory(CallFrame& frame, Context& context, cl_mem_flags flags, std::size_t size,
                                    void* host_pointer);

// Whether a command of `queue` may use the object: throws CL_INVALID_MEM_OBJECT for an image where a buffer is wanted
// and the other way round, CL_INVALID_CONTEXT for an object of another context.
void require_buffer(const Queue& queue, const Memory& memory);
void require_image(const Queue& queue, const Memory& memory);

// Throws CL_INVALID_OPERATION if the object was created without the host's access.
void require_host_reads(const Memory& memory);
void require_host_writes(const Memory& memory);

}  // namespace cleave::sim
