// How commands access memory objects, as far as is known before they run.
//
// Thread-safe: pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "remote/client/objects/object_state.h"

namespace cleave::remote::client::multi_server {

// Overwrite: replaces all contents.
enum class Access : std::uint8_t { read, write, overwrite };

// Whether a kernel may write a memory argument, unless its qualifiers say that it only reads it.
bool may_write(const KernelState& kernel, cl_uint index);

// The access of a launch to a memory argument with these flags.
Access access_of_argument(bool is_writable, cl_mem_flags flags);

// The access of a write to these bytes of a buffer: overwrite if they are all of a buffer that is no sub-buffer.
Access access_of_write(const MemoryState& buffer, std::size_t offset, std::size_t size);

}  // namespace cleave::remote::client::multi_server
